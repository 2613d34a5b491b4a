/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of CPUs: a map of packages, cores and CPUs, and the details of the selected CPU.
 *
 * The map is a list box with one option per CPU. The Tab key enters and leaves the map, and the
 * arrow keys move within it.
 */
import {plain} from './daemon.js';
import {card, element, set, set_children, set_rows, set_terms, set_text, table} from './dom.js';
import {decimal, duration, frequency, percent} from './format.js';

const _ = cockpit.gettext;

/* Machines with more CPUs than this get smaller tiles. */
const LARGE = 64;

/* Colours of idle states, by depth. */
const DEPTHS = 5;

/* Rows [name, share of the time, entered, too deep, too shallow]: C0, then the idle states. Without
 * cpuidle there is only C0. */
function residency(cpu) {
        return cpu.Residency.length > 0 ? cpu.Residency : [['C0', cpu.Utilization, 0, 0, 0]];
}

/* The class, and so the colour, of the n-th of `count` rows of residency(). */
function depth_class(n, count) {
        return n === 0 ? 'busy' : 'depth-' + Math.ceil(n / Math.max(count - 1, 1) * DEPTHS);
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
        const latency = usec => usec === 0 ? _("0 µs (the CPU polls)") :
                                             cockpit.format(_("at most $0"), duration(usec));

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
                cockpit.format(_("$0 $1"), states[0][0], percent(states[0][1])) :
                '';
}

function label(cpu) {
        const parts = [cockpit.format(_("CPU $0"), cpu.Number), state_text(cpu)];

        if (cpu.Online) {
                parts.push(cockpit.format(_("busy $0"), percent(cpu.Utilization)), mostly(cpu));
                if (limits(cpu).length > 0)
                        parts.push(_("limited"));
        }
        return parts.filter(part => part).join(', ');
}

/* A bar of shares, one part per row of residency(). */
function update_bar(bar, rows) {
        set_children(
                bar, rows.map((row, n) => [n, row[1]]), ([n]) => n,
                ([n]) => element('span', {class: depth_class(n, rows.length)}),
                (part, [, share]) => {
                        const width = (100 * share).toFixed(1) + '%';

                        if (part.style.width !== width)
                                part.style.width = width;
                });
}

function update_tile(tile, cpu) {
        set(tile, 'aria-label', label(cpu));
        set(tile, 'data-state', cpu.Online ? (cpu.Parked ? 'parked' : 'active') : 'offline');
        set(tile, 'data-limited', limits(cpu).length > 0);
        set_text(tile.querySelector('.cpu-number'), String(cpu.Number));
        set_text(tile.querySelector('.cpu-state'), state_text(cpu));
        set_text(tile.querySelector('.cpu-busy'), cpu.Online ? percent(cpu.Utilization) : '');
        update_bar(tile.querySelector('.bar'), cpu.Online ? residency(cpu) : []);
}

/* CPUs in groups: [[number of the package, [[number of the core, CPUs]...]]...]. CPUs that are
 * offline have no package or core, and are last. */
function by_place(cpus) {
        const packages = new Map();

        for (const cpu of cpus) {
                const cores = packages.get(cpu.Package) || new Map();
                const core = cpu.Core < 0 ? 'offline' : cpu.Core;

                packages.set(cpu.Package, cores);
                cores.set(core, [...(cores.get(core) || []), cpu]);
        }
        return [...packages]
                .map(([number, cores]) => [number, [...cores]])
                .sort(([a], [b]) => (a < 0) - (b < 0) || a - b);
}

function package_text(number, cores) {
        const cpus = cores.flatMap(([, members]) => members);
        const parked = cpus.filter(cpu => cpu.Parked).length;

        if (number < 0)
                return cockpit.format(_("Offline: $0"), cpus.length);
        return cockpit.format(_("Package $0: $1 of $2 CPUs parked"), number, parked, cpus.length);
}

/* [kind of the legend's sample, text] */
const LEGEND = [
        ['busy', _("busy")],
        ['depth-1', _("shallow idle state")],
        ['depth-' + DEPTHS, _("deepest idle state")],
        ['parked', _("parked")],
        ['limited', _("limited by idled")],
];

/* The cells of the n-th row of Residency. The first row is C0, which is not an idle state. */
function state_row(cpu, [name, share, entered, deep, shallow], n) {
        const time = (name === cpu.Estimated ? '~' : '') + percent(share);
        const idle = cpu.IdleStates[n - 1];

        if (!idle)
                return [name, time, '', '', '', '', ''];
        return [
                name, time, decimal(entered), decimal(deep), decimal(shallow), duration(idle[1]),
                duration(idle[2])
        ];
}

export class Cpus {
        constructor(daemon) {
                this.daemon = daemon;
                this.selected = 0;
                this.map = element('div', {
                        class: 'map',
                        role: 'listbox',
                        'aria-label': _("CPUs"),
                        onclick: event => this.choose(event.target.closest('.cpu'), false),
                        onkeydown: event => this.move(event),
                });
                this.title = element('h3');
                this.terms = element('dl', {class: 'terms'});
                this.table = element('tbody');
                this.node = card('cpus', _("CPUs"), null, this.map, this.legend(), this.details());
        }

        legend() {
                return element(
                        'p', {class: 'legend', 'aria-hidden': 'true'},
                        ...LEGEND.map(
                                ([kind, text]) =>
                                        element('span', {},
                                                element('span', {class: 'sample ' + kind}), text)));
        }

        details() {
                const heads = [
                        _("State"), _("Time"), _("Entered"), _("Too deep"), _("Too shallow"),
                        _("Exit latency"), _("Target residency")
                ];

                this.states = table({'aria-label': _("Idle states")}, heads, this.table);
                return element(
                        'div', {class: 'details', id: 'cpu-details'}, this.title, this.terms,
                        this.states);
        }

        choose(tile, focus) {
                if (!tile)
                        return;
                this.selected = Number(tile.dataset.key);
                this.update();
                if (focus)
                        tile.focus();
        }

        move(event) {
                const tiles = [...this.map.querySelectorAll('.cpu')];
                const here = tiles.findIndex(tile => Number(tile.dataset.key) === this.selected);
                const there = {
                        ArrowRight: here + 1,
                        ArrowDown: here + 1,
                        ArrowLeft: here - 1,
                        ArrowUp: here - 1,
                        Home: 0,
                        End: tiles.length - 1,
                }[event.key];

                if (there === undefined)
                        return;
                event.preventDefault();
                this.choose(tiles[Math.min(Math.max(there, 0), tiles.length - 1)], true);
        }

        create_tile(cpu) {
                return element(
                        'div', {class: 'cpu', role: 'option', id: 'cpu-' + cpu.Number},
                        element('span', {class: 'cpu-number'}),
                        element('span', {class: 'cpu-busy'}), element('span', {class: 'cpu-state'}),
                        element('span', {class: 'bar'}));
        }

        update_core(node, cpus) {
                set_children(
                        node, cpus, cpu => cpu.Number, cpu => this.create_tile(cpu),
                        (tile, cpu) => {
                                const selected = cpu.Number === this.selected;

                                update_tile(tile, cpu);
                                set(tile, 'aria-selected', String(selected));
                                set(tile, 'tabindex', selected ? 0 : -1);
                        });
        }

        create_package(number) {
                const id = 'package-' + number;

                return element(
                        'div', {role: 'group', 'aria-labelledby': id},
                        element('h3', {id, role: 'presentation'}),
                        element('div', {class: 'cores', role: 'presentation'}));
        }

        update_package(node, [number, cores]) {
                set_text(node.firstChild, package_text(number, cores));
                set_children(
                        node.lastChild, cores, ([core]) => core,
                        () => element('div', {class: 'core', role: 'presentation'}),
                        (box, [, members]) => this.update_core(box, members));
        }

        update() {
                const cpus = this.daemon.all('Cpu', 'Number');

                if (!cpus.some(cpu => cpu.Number === this.selected) && cpus.length > 0)
                        this.selected = cpus[0].Number;
                set(this.map, 'data-large', cpus.length > LARGE);
                set_children(
                        this.map, by_place(cpus), ([number]) => number,
                        ([number]) => this.create_package(number),
                        (node, row) => this.update_package(node, row));
                if (cpus.length > 0)
                        this.update_details(cpus.find(cpu => cpu.Number === this.selected));
        }

        update_details(cpu) {
                const place = cockpit.format(
                        _("package $0, die $1, core $2, thread $3, NUMA node $4"), cpu.Package,
                        cpu.Die, cpu.Core, cpu.Thread, cpu.Node);

                set_text(this.title, cockpit.format(_("CPU $0"), cpu.Number));
                set_terms(this.terms, [
                        [_("State"), state_text(cpu)],
                        [_("Why"), cpu.Online ? cpu.Reason : ''],
                        [_("Busy"), cpu.Online ? percent(cpu.Utilization) : ''],
                        [_("Time parked"), cpu.ParkedUSec > 0 ? duration(cpu.ParkedUSec) : ''],
                        [_("Topology"), cpu.Online ? place : ''],
                        ...limits(cpu),
                ]);
                set(this.states, 'hidden', cpu.Residency.length === 0);
                set_rows(
                        this.table,
                        cpu.Residency.map(
                                (row, n) => ({key: row[0], cells: state_row(cpu, row, n)})));
        }
}
