/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards of power and of policies: the measured power, and the measured savings of each policy.
 */
import {card, element, foreign, terms} from './dom.js';
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

/* Rows [name, power] of energy domains, each indented behind the domain that contains it. */
function domain_rows(domains, parent = '', indent = '') {
        return domains.filter(domain => domain.Parent === parent)
                .flatMap(
                        ({Name, Power}) => [
                                [indent + Name, Power < 0 ? _("not yet measured") : watts(Power)],
                                ...domain_rows(domains, Name, indent + '\u2003'),
        ]);
}

/* A value with its 95 % interval; empty if it was not measured. */
function interval([value, low, high], format) {
        if (typeof value !== 'number')
                return '';
        if (typeof low !== 'number' || typeof high !== 'number')
                return format(value);
        return fill(_("$0 (95 % interval: $1 to $2)"), format(value), format(low), format(high));
}

/* The savings of a policy, as a <dl>; null if idled does not measure them. */
function savings(policy) {
        if (!(policy.Verdict in VERDICTS) || (policy.EnergySource === 'none' && !policy.Blocks))
                return null;
        const used = decimal(policy.Blocks), dropped = decimal(policy.BlocksDropped);
        const source = SOURCES[policy.EnergySource] || policy.EnergySource;
        const effective = interval([policy.EffectiveShare], percent);

        return terms([
                [_("Savings"), VERDICTS[policy.Verdict]],
                [_("Energy saved"), interval(policy.SavedJoules, joules)],
                [_("Power saved"), interval(policy.SavedWatts, watts)],
                [_("More waiting for a CPU"), interval(policy.WaitingChange, percent)],
                [_("In effect"), effective && fill(_("$0 of the time"), effective)],
                [_("Trial blocks"), fill(_("$0 used, $1 dropped; $2"), used, dropped, source)],
        ]);
}

/* Empty without a battery. */
function battery_text({BatteryLevel, OnBattery}) {
        const text = OnBattery ? _("discharging, $0 full") : _("not discharging, $0 full");

        return BatteryLevel < 0 ? '' : fill(text, percent(BatteryLevel));
}

export function power_card(daemon) {
        const manager = daemon.manager;
        const domains = domain_rows(daemon.all('Energy', 'Name').reverse());
        const none = [_("Energy"), _("not measured: this machine has no RAPL that idled can read")];
        const missing = manager.Missing.map(([what, why]) => fill(_("$0 ($1)"), what, why));

        return card(
                'power', _("Power"), null, terms(domains.length > 0 ? domains : [none]),
                element('h3', {}, _("This machine and idled")), terms([
                        [_("Battery"), battery_text(manager)],
                        [
                                _("Load"),
                                fill(_("$0 CPUs busy, $1 runnable tasks"), decimal(manager.Load, 2),
                                     decimal(manager.Running))
                        ],
                        [_("Tasks waiting for CPUs"), percent(manager.Pressure)],
                        [_("Parked by"), manager.ParkBackend],
                        [
                                _("Parking changes"),
                                fill(_("$0, of which $1 in the last minute"),
                                     decimal(manager.Transitions),
                                     decimal(manager.TransitionsLastMinute))
                        ],
                        [_("Not available"), missing.join('\n')],
                        [
                                _("Cost of idled"),
                                fill(_("$0 of CPU time and $1 wake-ups in $2"),
                                     duration(manager.CpuUSec), decimal(manager.Wakeups),
                                     duration(manager.UptimeUSec))
                        ],
                ]));
}

export function policies_card(daemon) {
        const policies = daemon.all('Policy', 'Rank');
        const row = policy =>
                element('li', {key: policy.Name, 'data-policy': policy.Name},
                        element('div', {class: 'row-head'}, element('strong', {}, policy.Name),
                                element('span', {class: 'subtle'}, policy.Summary)),
                        element('p', {}, foreign(policy.Reason)), savings(policy));

        return card(
                'policies', _("Policies and savings"), null,
                element('ul', {class: 'rows'}, ...policies.map(row)),
                policies.some(savings) ? null :
                                         element('p', {class: 'subtle', id: 'savings-none'},
                                                 _("Savings are not measured.")));
}
