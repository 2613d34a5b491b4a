/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Formats quantities for people, in the language that the user chose in Cockpit.
 */
const _ = cockpit.gettext;

const LANGUAGE = (cockpit.language || 'en').replace('_', '-');

/* By the number of digits after the point. They are made once, because making one is slow. */
const FORMATS = [0, 1, 2].map(digits => new Intl.NumberFormat(LANGUAGE, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
}));

/* With 0 to 2 digits after the point. Nothing is shown as -0. */
export function decimal(value, digits = 0) {
        return FORMATS[digits].format(Number(value.toFixed(digits)) + 0);
}

/* A share from 0 to 1. */
export function percent(share) {
        const value = 100 * share;
        const digits = value !== 0 && Math.abs(value) < 10 ? 1 : 0;

        return cockpit.format(_("$0 %"), decimal(value, digits));
}

export function watts(value) {
        return cockpit.format(_("$0 W"), decimal(value, Math.abs(value) < 100 ? 1 : 0));
}

export function joules(value) {
        const size = Math.abs(value);

        if (size >= 3.6e6)
                return cockpit.format(_("$0 kWh"), decimal(value / 3.6e6, 2));
        if (size >= 1e4)
                return cockpit.format(_("$0 kJ"), decimal(value / 1e3, 1));
        return cockpit.format(_("$0 J"), decimal(value));
}

export function frequency(khz) {
        return khz >= 1e6 ? cockpit.format(_("$0 GHz"), decimal(khz / 1e6, 2)) :
                            cockpit.format(_("$0 MHz"), decimal(khz / 1e3));
}

/* The two largest units of a time in microseconds. */
export function duration(usec) {
        const seconds = Math.floor(usec / 1e6), minutes = Math.floor(seconds / 60);
        const hours = Math.floor(minutes / 60);

        if (usec < 1000)
                return cockpit.format(_("$0 µs"), decimal(usec));
        if (usec < 1e6)
                return cockpit.format(_("$0 ms"), decimal(usec / 1e3));
        if (seconds < 60)
                return cockpit.format(_("$0 s"), decimal(seconds));
        if (seconds < 3600)
                return cockpit.format(_("$0 min $1 s"), minutes, seconds % 60);
        if (hours < 24)
                return cockpit.format(_("$0 h $1 min"), hours, minutes % 60);
        return cockpit.format(_("$0 d $1 h"), decimal(Math.floor(hours / 24)), hours % 24);
}

/* A point in time, in microseconds since 1970. */
export function moment(usec) {
        return new Date(usec / 1000).toLocaleString(LANGUAGE, {
                dateStyle: 'medium',
                timeStyle: 'medium',
        });
}

/* The number of CPUs in a list in the kernel's format: 3 for "2-3,8". */
export function count_cpus(list) {
        let n = 0;

        for (const range of list.split(',').filter(text => text)) {
                const [first, last] = range.split('-').map(Number);

                n += (last === undefined ? first : last) - first + 1;
        }
        return n;
}

/* A word for the shell, quoted if that is necessary. */
export function shell_word(text) {
        return /^[\w@%+=:,./*-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}
