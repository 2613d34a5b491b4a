/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Selects the light or the dark theme, as the user chose in Cockpit's menu. This file is not a
 * module, so that it runs before the first paint.
 */
(function() {
const dark = window.matchMedia('(prefers-color-scheme: dark)');

function apply(style) {
        const chosen = style || window.localStorage.getItem('shell:style') || 'auto';
        const is_dark = chosen === 'dark' || (chosen === 'auto' && dark.matches);

        document.documentElement.classList.toggle('pf-theme-dark', is_dark);
}

dark.addEventListener('change', () => apply());
window.addEventListener('storage', event => {
        if (event.key === 'shell:style')
                apply();
});
window.addEventListener('cockpit-style', event => apply(event.detail.style));
apply();
})();
