/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that exits at once, for apps-load: linked statically, so that it starts much faster
 * than with the dynamic linker, and thousands of times a second. */
int main(void)
{
        return 0;
}
