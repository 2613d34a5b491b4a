/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of holds: the requests of programs, and a button to release each.
 */
import {plain} from './daemon.js';
import {button, card, element, foreign, set, set_children, set_terms, set_text} from './dom.js';
import {decimal, duration, frequency, moment} from './format.js';

const _ = cockpit.gettext;

function requests(hold) {
        const parts = [], request = plain(hold.Request);

        if (request.latency_us >= 0)
                parts.push(cockpit.format(
                        request.global ? _("wake-up latency of all CPUs at most $0") :
                                         _("wake-up latency at most $0"),
                        duration(request.latency_us)));
        if (request.wakeup_p99_us > 0)
                parts.push(cockpit.format(
                        _("99 % of its unit's wake-ups within $0"),
                        duration(request.wakeup_p99_us)));
        if (request.min_cores > 0)
                parts.push(cockpit.format(
                        cockpit.ngettext(
                                "at least $0 active core", "at least $0 active cores",
                                request.min_cores),
                        decimal(request.min_cores)));
        if (request.min_frequency_khz > 0)
                parts.push(cockpit.format(_("at least $0"), frequency(request.min_frequency_khz)));
        if (request.kind)
                parts.push(cockpit.format(_("cores of kind $0"), request.kind));
        if (request.profile)
                parts.push(cockpit.format(_("profile $0"), request.profile));
        return parts.join(', ') || _("active CPUs");
}

export class Holds {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.list = element('ul', {class: 'rows'});
                this.none = element('p', {class: 'subtle'}, _("There are no holds."));
                this.node = card('holds', _("Holds"), null, this.none, this.list);
        }

        release(path) {
                this.page.run(
                        this.daemon.call('ReleaseHold', 'o', path), _("The hold was not released"));
        }

        create({path, Id}) {
                const release =
                        button(_("Release"), 'secondary', () => this.release(path),
                               {'aria-label': cockpit.format(_("Release hold $0"), Id)});

                return element(
                        'li', {'data-hold': path},
                        element('div', {class: 'row-head'}, element('strong', {}, foreign('')),
                                release),
                        element('dl', {class: 'terms'}));
        }

        update_row(node, hold) {
                const [title, release] = node.firstChild.children;

                set_text(title.firstChild, hold.Reason || cockpit.format(_("Hold $0"), hold.Id));
                /* Only root and the program itself may release a hold. */
                set(release, 'disabled', this.page.limited);
                set(release, 'title', this.page.limited && this.page.hint);
                set_terms(node.lastChild, [
                        [_("Requests"), requests(hold)],
                        [_("Owner"), hold.Owner],
                        [_("Process"), hold.Pid > 0 ? String(hold.Pid) : ''],
                        [_("CPUs"), hold.CPUs],
                        [_("Since"), moment(hold.SinceUSec)],
                        [_("Not in effect"), hold.Obstacle],
                ]);
        }

        update() {
                const holds = this.daemon.all('Hold', 'Id');

                set(this.none, 'hidden', holds.length > 0);
                set_children(
                        this.list, holds, hold => hold.path, hold => this.create(hold),
                        (node, hold) => this.update_row(node, hold));
        }
}
