/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of units whose tasks wait: the bill of wake-ups, counted when the user asks for it.
 */
import {button, card, element, set, set_rows, set_text, table} from './dom.js';
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

/* What the table shows of a row of WakeupBill(): [unit, cgroup, executable, kinds], where kinds are
 * [kind, state, wake-ups, sum, longest, bins]. */
function summary([unit, cgroup, , kinds], seconds) {
        const sum = (take, of) => kinds.filter(kind => !of || of.includes(kind[0]))
                                          .reduce((n, kind) => n + take(kind), 0);
        const longest = Math.max(...kinds.map(kind => kind[4]));
        const bins = kinds.flatMap(kind => kind[5]).sort((a, b) => a[0] - b[0]);
        const waited = sum(kind => kind[3]);
        const share = (...of) => percent(sum(kind => kind[3], of) / waited);

        return {
                key: cgroup,
                waited,
                cells: [
                        unit, decimal(sum(kind => kind[2]) / seconds, 1),
                        duration(quantile(bins, 0.5, longest) / 1000),
                        duration(quantile(bins, 0.99, longest) / 1000), duration(longest / 1000),
                        share('idle'), share('waiting', 'parked'), share('parked')
                ]
        };
}

export class Waits {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.counting = false;
                this.button = button('', 'secondary', () => this.count(), {id: 'count-waits'});
                this.hint = element(
                        'p', {class: 'subtle'},
                        _("How long woken tasks wait until they run, by unit, and for what."));
                this.body = element('tbody');
                this.table = table({'aria-labelledby': 'waits-title'}, HEADS, this.body);
                set(this.table, 'hidden', true);
                this.node = card('waits', _("Who waits"), this.button, this.hint, this.table);
        }

        count() {
                const variant = (t, v) => ({t, v});
                /* Other users' units need authorization. */
                const call = this.daemon.call('WakeupBill', 'a{sv}', {
                        Seconds: variant('d', SECONDS),
                        All: variant('b', !this.page.limited),
                });
                const over = () => {
                        this.counting = false;
                        this.update();
                };

                this.counting = true;
                this.update();
                this.page.run(
                        call.then(([bill]) => this.show(bill)), _("Wake-ups were not counted"));
                call.then(over, over);
        }

        show(bill) {
                const rows = bill.Units.v.map(unit => summary(unit, bill.DurationNSec.v / 1e9))
                                     .sort((a, b) => b.waited - a.waited)
                                     .slice(0, UNITS_SHOWN);

                set(this.table, 'hidden', rows.length === 0);
                set_text(
                        this.hint,
                        rows.length > 0           ? '' :
                                this.page.limited ? _("There were no wake-ups in your own units.") :
                                                    _("There were no wake-ups."));
                set(this.hint, 'hidden', rows.length > 0);
                set_rows(this.body, rows);
        }

        update() {
                set(this.button, 'disabled', this.counting);
                set_text(
                        this.button,
                        this.counting ? _("Counting") :
                                        cockpit.format(_("Count for $0 s"), SECONDS));
        }
}
