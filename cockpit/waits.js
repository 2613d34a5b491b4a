/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of units whose tasks wait: the bill of wake-ups, counted when the user asks for it.
 */
import {button, card, element, table} from './dom.js';
import {decimal, duration, percent} from './format.js';

const _ = cockpit.gettext;

const SECONDS = 5;
const UNITS_SHOWN = 10;

const HEADS = [
        _("Unit"), _("Wake-ups per second"), _("p50"), _("p99"), _("Longest"),
        _("Leaving idle states"), _("Waiting for a CPU"), _("While one was parked")
];

/* The delay in ns that the share `q` does not exceed. `bins` are rows [begin, wake-ups], in order;
 * each ends an eighth of a power of 2 later. */
function quantile(bins, q, longest) {
        let left = q * bins.reduce((sum, bin) => sum + bin[1], 0);

        for (const [begin, n] of bins) {
                const width = begin < 1024 ? 1024 : 2 ** (Math.floor(Math.log2(begin)) - 3);

                if (left <= n)
                        return Math.min(begin + width * left / n, longest);
                left -= n;
        }
        return longest;
}

/* Kinds of wake-ups in a row of WakeupBill(): [kind, state, wake-ups, sum of delays, longest,
 * bins]. */
function sum(kinds, column) {
        return kinds.reduce((n, kind) => n + kind[column], 0);
}

/* The key and the cells of a row of WakeupBill(). */
function unit_row([unit, cgroup, , kinds], seconds) {
        const longest = Math.max(...kinds.map(kind => kind[4]));
        const bins = kinds.flatMap(kind => kind[5]).sort((a, b) => a[0] - b[0]);
        const delay = q => duration(quantile(bins, q, longest) / 1000);
        const share = (...of) =>
                percent(sum(kinds.filter(kind => of.includes(kind[0])), 3) / sum(kinds, 3));

        return [
                cgroup, unit, decimal(sum(kinds, 2) / seconds, 1), delay(0.5), delay(0.99),
                duration(longest / 1000), share('idle'), share('waiting', 'parked'), share('parked')
        ];
}

export class Waits {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.counting = false;
                this.hint = _("How long woken tasks wait until they run, by unit, and for what.");
                this.rows = [];
        }

        async count() {
                const variant = (t, v) => ({t, v});
                /* Other users' units need authorization. */
                const call = this.daemon.call('WakeupBill', 'a{sv}', {
                        Seconds: variant('d', SECONDS),
                        All: variant('b', !this.page.limited),
                });

                this.counting = true;
                this.page.draw_soon();
                await this.page.run(
                        call.then(([bill]) => this.show(bill)), _("Wake-ups were not counted"));
                this.counting = false;
                this.page.draw_soon();
        }

        show(bill) {
                const seconds = bill.DurationNSec.v / 1e9;

                this.rows = bill.Units.v.sort(([, , , a], [, , , b]) => sum(b, 3) - sum(a, 3))
                                    .slice(0, UNITS_SHOWN)
                                    .map(unit => unit_row(unit, seconds));
                this.hint = this.page.limited ? _("There were no wake-ups in your own units.") :
                                                _("There were no wake-ups.");
        }

        card() {
                const text = this.counting ? _("Counting") :
                                             cockpit.format(_("Count for $0 s"), SECONDS);

                return card(
                        'waits', _("Who waits"),
                        button(text, 'secondary', () => this.count(),
                               {id: 'count-waits', disabled: this.counting}),
                        this.rows.length > 0 ?
                                table({key: 'table', 'aria-labelledby': 'waits-title'}, HEADS,
                                      this.rows) :
                                element('p', {class: 'subtle'}, this.hint));
        }
}
