/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards of power and of policies: the measured power, and the measured savings of each policy.
 */
import {card, element, foreign, set, set_children, set_terms, set_text} from './dom.js';
import {decimal, duration, joules, percent, watts} from './format.js';

const _ = cockpit.gettext;
const fill = cockpit.format;

const VERDICTS = {
        saves: _("saves energy"),
        costs: _("costs energy"),
        unknown: _("not yet known")
};

const SOURCES = {
        rapl: _("measured with RAPL"),
        battery: _("measured at the battery"),
        estimate: _("estimated from idle-state residencies"),
        none: _("energy is not available now"),
};

/* Energy domains with their nesting level, each domain before the domains that it contains. */
function nested(domains, parent = '', level = 0) {
        return domains.filter(domain => domain.Parent === parent)
                .flatMap(
                        domain => [{...domain, level}, ...nested(domains, domain.Name, level + 1)]);
}

/* A value with its 95 % interval; empty if it was not measured. */
function interval([value, low, high], format) {
        if (typeof value !== 'number')
                return '';
        if (typeof low !== 'number' || typeof high !== 'number')
                return format(value);
        return fill(_("$0 (95 % interval: $1 to $2)"), format(value), format(low), format(high));
}

function share_text(share) {
        return typeof share === 'number' ? fill(_("$0 of the time"), percent(share)) : '';
}

/* The savings of a policy, as rows of a <dl>; null if idled does not measure them. */
function savings(policy) {
        if (!(policy.Verdict in VERDICTS) || (policy.EnergySource === 'none' && !policy.Blocks))
                return null;
        const used = decimal(policy.Blocks), dropped = decimal(policy.BlocksDropped);
        const source = SOURCES[policy.EnergySource] || policy.EnergySource;

        return [
                [_("Savings"), VERDICTS[policy.Verdict]],
                [_("Energy saved"), interval(policy.SavedJoules, joules)],
                [_("Power saved"), interval(policy.SavedWatts, watts)],
                [_("More waiting for a CPU"), interval(policy.WaitingChange, percent)],
                [_("In effect"), share_text(policy.EffectiveShare)],
                [_("Trial blocks"), fill(_("$0 used, $1 dropped; $2"), used, dropped, source)],
        ];
}

function domain_row(domain) {
        const power = domain.Power < 0 ? _("not yet measured") : watts(domain.Power);

        return ['\u2003'.repeat(domain.level) + domain.Name, power];
}

/* For a machine without energy domains. */
const NO_DOMAINS = [
        [_("Energy"), _("not measured: this machine has no RAPL that idled can read")],
];

/* Empty without a battery. */
function battery_text({BatteryLevel, OnBattery}) {
        const text = OnBattery ? _("discharging, $0 full") : _("not discharging, $0 full");

        return BatteryLevel < 0 ? '' : fill(text, percent(BatteryLevel));
}

function missing_text(missing) {
        return missing.map(([what, why]) => fill(_("$0 ($1)"), what, why)).join('\n');
}

function cost_text({CpuUSec, Wakeups, UptimeUSec}) {
        return fill(
                _("$0 of CPU time and $1 wake-ups in $2"), duration(CpuUSec), decimal(Wakeups),
                duration(UptimeUSec));
}

function load_text({Load, Running}) {
        return fill(_("$0 CPUs busy, $1 runnable tasks"), decimal(Load, 2), decimal(Running));
}

function changes_text({Transitions, TransitionsLastMinute}) {
        return fill(
                _("$0, of which $1 in the last minute"), decimal(Transitions),
                decimal(TransitionsLastMinute));
}

export class Power {
        constructor(daemon) {
                this.daemon = daemon;
                this.domains = element('dl', {class: 'terms short'});
                this.own = element('dl', {class: 'terms'});
                this.node =
                        card('power', _("Power"), null, this.domains,
                             element('h3', {}, _("This machine and idled")), this.own);
        }

        update() {
                const manager = this.daemon.manager;
                const domains = nested(this.daemon.all('Energy', 'Name').reverse());

                set_terms(this.domains, domains.length > 0 ? domains.map(domain_row) : NO_DOMAINS);
                set_terms(this.own, [
                        [_("Battery"), battery_text(manager)],
                        [_("Load"), load_text(manager)],
                        [_("Tasks waiting for CPUs"), percent(manager.Pressure)],
                        [_("Parked by"), manager.ParkBackend],
                        [_("Parking changes"), changes_text(manager)],
                        [_("Not available"), missing_text(manager.Missing)],
                        [_("Cost of idled"), cost_text(manager)],
                ]);
        }
}

export class Policies {
        constructor(daemon) {
                this.daemon = daemon;
                this.list = element('ul', {class: 'rows'});
                this.none = element(
                        'p', {class: 'subtle', id: 'savings-none'}, _("Savings are not measured."));
                this.node = card('policies', _("Policies and savings"), null, this.list, this.none);
        }

        create(policy) {
                return element(
                        'li', {'data-policy': policy.Name},
                        element('div', {class: 'row-head'}, element('strong', {}, policy.Name),
                                element('span', {class: 'subtle'}, policy.Summary)),
                        element('p', {}, foreign('')), element('dl', {class: 'terms'}));
        }

        update() {
                const policies = this.daemon.all('Policy', 'Rank');

                set_children(
                        this.list, policies, policy => policy.Name, policy => this.create(policy),
                        (node, policy) => {
                                const [, why, terms] = node.children;
                                const rows = savings(policy);

                                set_text(why.firstChild, policy.Reason);
                                set(terms, 'hidden', rows === null);
                                set_terms(terms, rows || []);
                        });
                set(this.none, 'hidden', policies.some(policy => savings(policy) !== null));
        }
}
