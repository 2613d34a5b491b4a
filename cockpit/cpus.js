/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of CPUs: a map of packages, cores and CPUs, and the details of the selected CPU.
 *
 * The map is a list box with one option per CPU. The Tab key enters and leaves the map, and the
 * arrow keys move within it.
 */
import {group_by, plain} from './daemon.js';
import {card, element, table, terms} from './dom.js';
import {decimal, duration, frequency, percent} from './format.js';

const _ = cockpit.gettext;
const fill = cockpit.format;

/* Machines with more CPUs than this get smaller tiles. */
const LARGE = 64;

/* Colours of idle states, by depth. */
const DEPTHS = 5;

/* Rows [name, share of the time, entered, too deep, too shallow]: C0, then the idle states. Without
 * cpuidle there is only C0. */
function residency(cpu) {
        return cpu.Residency.length > 0 ? cpu.Residency : [['C0', cpu.Utilization, 0, 0, 0]];
}

/* A sample of a colour, which the style sheet has as a variable of this name. */
function colour(name, attributes) {
        return element('i', {class: name, background: `var(--${name})`, ...attributes});
}

function state_text(cpu) {
        if (!cpu.Online)
                return _("offline");
        if (cpu.Isolated)
                return _("isolated");
        return cpu.Parked ? _("parked") : _("active");
}

/* The limits that idled sets for the CPU, as rows [term, text]. */
function limits(cpu) {
        const made = plain(cpu.Limits);
        const known = (value, text_of) => value >= 0 ? text_of(value) : '';
        const latency = usec =>
                usec === 0 ? _("0 µs (the CPU polls)") : fill(_("at most $0"), duration(usec));

        return [
                [_("Wake-up latency"), known(made.latency_us, latency)],
                [_("Disabled idle states"), (made.disabled_states || []).join(', ')],
                [_("Governor"), made.governor],
                [_("Energy preference"), made.energy_preference],
                [_("Energy bias"), known(made.energy_bias, decimal)],
                [_("Lowest frequency"), known(made.min_khz, frequency)],
                [_("Highest frequency"), known(made.max_khz, frequency)],
                [_("Boost"), known(made.boost, on => on ? _("on") : _("off"))],
        ].filter(([, text]) => text);
}

/* The idle state that the CPU spent most of its time in, as text; empty if it did not sleep. */
function mostly(cpu) {
        const states = residency(cpu).slice(1).sort((a, b) => b[1] - a[1]);

        return states.length > 0 && states[0][1] > 0 ?
                fill(_("$0 $1"), states[0][0], percent(states[0][1])) :
                '';
}

function label(cpu, limited) {
        const parts = [fill(_("CPU $0"), cpu.Number), state_text(cpu)];

        if (cpu.Online) {
                parts.push(fill(_("busy $0"), percent(cpu.Utilization)), mostly(cpu));
                if (limited)
                        parts.push(_("limited"));
        }
        return parts.filter(part => part).join(', ');
}

/* A bar of shares, one part per row of residency(). */
function bar(rows) {
        const depth = n => Math.ceil(n / Math.max(rows.length - 1, 1) * DEPTHS);
        const parts = rows.map(([, share], n) => colour(n === 0 ? 'busy' : 'depth-' + depth(n), {
                                       width: Math.round(1000 * share) / 10 + '%'
                               }));

        return element('span', {class: 'bar'}, ...parts);
}

function package_text(number, cpus) {
        const parked = cpus.filter(cpu => cpu.Parked).length;

        return number < 0 ?
                fill(_("Offline: $0"), cpus.length) :
                fill(_("Package $0: $1 of $2 CPUs parked"), number, parked, cpus.length);
}

/* Above a CPU that idled limits. */
const LIMITED = element('span', {class: 'limit'}, '\u2009\u2193');

const LEGEND = [
        [colour('busy'), _("busy")],
        [colour('depth-1'), _("shallow idle state")],
        [colour('depth-' + DEPTHS), _("deepest idle state")],
        [colour('parked'), _("parked")],
        [LIMITED, _("limited by idled")],
].map(([mark, text]) => element('span', {}, mark, '\u2002', text));

const HEADS = [
        _("State"), _("Time"), _("Entered"), _("Too deep"), _("Too shallow"), _("Exit latency"),
        _("Target residency")
];

/* The key and the cells of the n-th row of Residency. The first row is C0, not an idle state. */
function state_row(cpu, [name, share, entered, deep, shallow], n) {
        const time = (name === cpu.Estimated ? '~' : '') + percent(share);
        const idle = cpu.IdleStates[n - 1];

        const rest = idle ?
                [
                        decimal(entered), decimal(deep), decimal(shallow), duration(idle[1]),
                        duration(idle[2])
                ] :
                Array(5).fill('');

        return [name, name, time, ...rest];
}

function details(cpu) {
        const place =
                fill(_("package $0, die $1, core $2, thread $3, NUMA node $4"), cpu.Package,
                     cpu.Die, cpu.Core, cpu.Thread, cpu.Node);
        const states = cpu.Residency.map((row, n) => state_row(cpu, row, n));

        return element(
                'div', {class: 'details', id: 'cpu-details'},
                element('h3', {}, fill(_("CPU $0"), cpu.Number)), terms([
                        [_("State"), state_text(cpu)],
                        [_("Why"), cpu.Online ? cpu.Reason : ''],
                        [_("Busy"), cpu.Online ? percent(cpu.Utilization) : ''],
                        [_("Time parked"), cpu.ParkedUSec > 0 ? duration(cpu.ParkedUSec) : ''],
                        [_("Topology"), cpu.Online ? place : ''],
                        ...limits(cpu),
                ]),
                states.length > 0 ? table({'aria-label': _("Idle states")}, HEADS, states) : null);
}

export class Cpus {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.selected = 0;
        }

        select(tile) {
                this.selected = tile.key;
                this.page.draw_soon();
        }

        move(event) {
                const tiles = [...event.currentTarget.querySelectorAll('.cpu')];
                const here = tiles.findIndex(tile => tile.key === this.selected);
                const step = {
                        ArrowRight: 1,
                        ArrowDown: 1,
                        ArrowLeft: -1,
                        ArrowUp: -1,
                        Home: -tiles.length,
                        End: tiles.length,
                }[event.key];
                const there = tiles[Math.min(Math.max(here + step, 0), tiles.length - 1)];

                if (!step)
                        return;
                event.preventDefault();
                this.select(there);
                there.focus();
        }

        tile(cpu) {
                const selected = cpu.Number === this.selected, limited = limits(cpu).length > 0;

                return element(
                        'div', {
                                key: cpu.Number,
                                class: 'cpu',
                                role: 'option',
                                id: 'cpu-' + cpu.Number,
                                tabindex: selected ? 0 : -1,
                                'aria-label': label(cpu, limited),
                                'aria-selected': String(selected),
                                'data-state': cpu.Online ? (cpu.Parked ? 'parked' : 'active') :
                                                           'offline',
                                'data-limited': limited,
                                onclick: event => this.select(event.currentTarget),
                        },
                        element('strong', {}, String(cpu.Number), limited ? LIMITED : null),
                        element('span', {class: 'cpu-busy'},
                                cpu.Online ? percent(cpu.Utilization) : ''),
                        element('span', {class: 'cpu-state'}, state_text(cpu)),
                        bar(cpu.Online ? residency(cpu) : []));
        }

        /* CPUs that are offline have neither a package nor a core. */
        package([number, cpus]) {
                const id = 'package-' + number;
                const cores = [...group_by(cpus, cpu => cpu.Core)].map(
                        ([key, members]) =>
                                element('div', {key, class: 'core', role: 'presentation'},
                                        ...members.map(cpu => this.tile(cpu))));

                return element(
                        'div', {key: number, role: 'group', 'aria-labelledby': id},
                        element('h3', {id, role: 'presentation'}, package_text(number, cpus)),
                        element('div', {class: 'cores', role: 'presentation'}, ...cores));
        }

        card() {
                const cpus = this.daemon.all('Cpu', 'Number');
                const selected = cpus.find(cpu => cpu.Number === this.selected) || cpus[0];
                const packages = [...group_by(cpus, cpu => cpu.Package)].sort(
                        ([a], [b]) => (a < 0) - (b < 0) || a - b);

                this.selected = selected?.Number;
                return card(
                        'cpus', _("CPUs"), null,
                        element('div', {
                                class: 'map',
                                role: 'listbox',
                                'aria-label': _("CPUs"),
                                'data-large': cpus.length > LARGE,
                                onkeydown: event => this.move(event),
                        },
                                ...packages.map(row => this.package(row))),
                        element('p', {class: 'legend', 'aria-hidden': 'true'}, ...LEGEND),
                        selected ? details(selected) : null);
        }
}
