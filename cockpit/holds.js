/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of holds: the requests of programs, and a button to release each.
 */
import {plain} from './daemon.js';
import {button, card, element, foreign, terms} from './dom.js';
import {decimal, duration, frequency, moment} from './format.js';

const _ = cockpit.gettext;
const fill = cockpit.format;

function requests(hold) {
        const request = plain(hold.Request);
        const latency = request.global ? _("wake-up latency of all CPUs at most $0") :
                                         _("wake-up latency at most $0");
        const cores = n =>
                cockpit.ngettext("at least $0 active core", "at least $0 active cores", n);
        const parts = [
                request.latency_us >= 0 && fill(latency, duration(request.latency_us)),
                request.wakeup_p99_us > 0 &&
                        fill(_("99 % of its unit's wake-ups within $0"),
                             duration(request.wakeup_p99_us)),
                request.min_cores > 0 && fill(cores(request.min_cores), decimal(request.min_cores)),
                request.min_frequency_khz > 0 &&
                        fill(_("at least $0"), frequency(request.min_frequency_khz)),
                request.kind && fill(_("cores of kind $0"), request.kind),
                request.profile && fill(_("profile $0"), request.profile),
        ];

        return parts.filter(part => part).join(', ') || _("active CPUs");
}

export function holds_card(daemon, page) {
        const holds = daemon.all('Hold', 'Id');
        const release = path =>
                page.run(daemon.call('ReleaseHold', 'o', path), _("The hold was not released"));
        const row = hold => element(
                'li', {key: hold.path, 'data-hold': hold.path},
                element('div', {class: 'row-head'},
                        element('strong', {}, foreign(hold.Reason || fill(_("Hold $0"), hold.Id))),
                        /* Only root and the program itself may release a hold. */
                        button(_("Release"), 'secondary', () => release(hold.path), {
                                'aria-label': fill(_("Release hold $0"), hold.Id),
                                disabled: page.limited,
                                title: page.limited && page.hint,
                        })),
                terms([
                        [_("Requests"), requests(hold)],
                        [_("Owner"), hold.Owner],
                        [_("Process"), hold.Pid > 0 ? String(hold.Pid) : ''],
                        [_("CPUs"), hold.CPUs],
                        [_("Since"), moment(hold.SinceUSec)],
                        [_("Not in effect"), hold.Obstacle],
                ]));

        return card(
                'holds', _("Holds"), null,
                holds.length > 0 ? null : element('p', {class: 'subtle'}, _("There are no holds.")),
                element('ul', {class: 'rows'}, ...holds.map(row)));
}
