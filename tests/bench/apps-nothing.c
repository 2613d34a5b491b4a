/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that is over at once, for apps-load: linked statically, so that beginning it takes a
 * fraction of what the dynamic linker would need, and thousands begin in a second. */
int main(void)
{
        return 0;
}
