/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page: its cards, notices and errors. It is drawn at most once a frame.
 */
import {Cpus} from './cpus.js';
import {Daemon} from './daemon.js';
import {button, element, foreign, set, set_children, set_text} from './dom.js';
import {count_cpus, decimal, moment, watts} from './format.js';
import {Holds} from './holds.js';
import {Options} from './options.js';
import {Policies, Power} from './power.js';
import {Profiles} from './profiles.js';
import {Waits} from './waits.js';

const _ = cockpit.gettext;

const START = 'systemctl enable --now idled';
const PAUSE_USEC = 3600 * 1e6;

/* Titles of the page without cards, by the daemon's state. */
const TITLES = {
        unknown: _("Loading"),
        stopped: _("idled is not running"),
        lost: _("Connection lost"),
};
const STOPPED = _("The page appears as soon as idled runs. To start idled, run:");

const LIMITED = _("Your access is limited: idled may refuse changes.");
const DRY_RUN = _("This is a dry run: idled decides, but changes nothing.");
const DEGRADED = _("Not in effect: $0 $1: $2");

/* Errors that a caller without permission gets. */
const DENIED = [
        'org.freedesktop.DBus.Error.AccessDenied',
        'org.freedesktop.DBus.Error.InteractiveAuthorizationRequired',
];

class Page {
        constructor() {
                this.hint = _("Turn on administrative access at the top of this window.");
                this.limited = false;
                this.asked = 0; /* the requested frame */
                this.permission = cockpit.permission({admin: true});
                this.permission.addEventListener('changed', () => this.draw_soon());
                this.daemon = new Daemon(() => this.draw_soon());
                this.build();
        }

        /* Creates the cards and stores them in this.parts. */
        build_cards() {
                const cpus = new Cpus(this.daemon), options = new Options(this.daemon, this);
                const left = [new Power(this.daemon), new Profiles(this.daemon, this)];
                const right = [new Policies(this.daemon), new Holds(this.daemon, this)];
                const waits = new Waits(this.daemon, this);
                const column = parts =>
                        element('div', {class: 'column'}, ...parts.map(part => part.node));

                this.parts = [cpus, ...left, ...right, waits, options];
                return element(
                        'div', {class: 'cards'}, cpus.node, column(left), column(right), waits.node,
                        options.node);
        }

        build() {
                this.pause = button('', 'secondary', () => this.toggle_pause(), {id: 'pause'});
                this.figures = element('ul', {class: 'figures', 'aria-label': _("Summary")});
                this.notices = element('div', {id: 'notices'});
                this.errors = element('div', {id: 'errors', role: 'alert'});
                this.empty =
                        element('section', {class: 'empty', id: 'empty'}, element('h1'),
                                element('p'), element('p', {}, element('code', {}, START)),
                                button(_("Show the service"), 'primary',
                                       () => cockpit.jump('/system/services#/idled.service')));
                this.content = element(
                        'div', {id: 'content', hidden: true},
                        element('header', {class: 'page-head'}, element('h1', {}, _("CPU power")),
                                this.figures, this.pause),
                        this.notices, this.build_cards());
                document.getElementById('page').append(this.errors, this.empty, this.content);
                this.draw_soon();
        }

        draw_soon() {
                if (!this.asked)
                        this.asked = window.requestAnimationFrame(() => {
                                this.asked = 0;
                                this.draw();
                        });
        }

        draw() {
                const running = this.daemon.state === 'running';

                this.limited = this.permission.allowed === false;
                set(document.body, 'data-state', this.daemon.state);
                set(this.empty, 'hidden', running);
                set(this.content, 'hidden', !running);
                if (!running) {
                        this.draw_empty();
                        return;
                }
                this.draw_head();
                for (const part of this.parts)
                        part.update();
        }

        draw_empty() {
                const [title, text, command, show] = this.empty.children;
                const stopped = this.daemon.state === 'stopped';

                set_text(title, TITLES[this.daemon.state]);
                set_text(text, stopped ? STOPPED : this.daemon.problem);
                set(command, 'hidden', !stopped);
                set(show, 'hidden', !stopped);
        }

        draw_head() {
                const manager = this.daemon.manager;
                const packages = this.daemon.all('Energy', 'Name')
                                         .filter(domain => /^package/.test(domain.Name) &&
                                                         !domain.Parent && domain.Power >= 0);
                const power = packages.reduce((sum, domain) => sum + domain.Power, 0);

                const part = (n, all) => cockpit.format(_("$0 of $1"), n, all);
                const parked = part(count_cpus(manager.Parked), count_cpus(manager.Online));
                const rows = [
                        [_("CPUs parked"), parked],
                        [_("Cores active"), part(manager.ActiveCores, manager.Cores)],
                        [_("CPUs busy"), decimal(manager.Load, 2)],
                        [_("Power"), packages.length > 0 ? watts(power) : _("not measured")],
                        [_("Profile"), manager.Profile],
                ];

                set_children(
                        this.figures, rows, ([term]) => term,
                        ([term]) =>
                                element('li', {}, element('span', {class: 'value'}),
                                        element('span', {class: 'subtle'}, term)),
                        (node, [, value]) => set_text(node.firstChild, value));
                set_text(
                        this.pause,
                        manager.Pauses.some(pause => pause.lasting.v) ? _("Resume") :
                                                                        _("Pause for an hour"));
                this.draw_notices(manager);
        }

        draw_notices(manager) {
                const notices = manager.Pauses.map(pause => ['info', this.pause_text(pause)]);

                if (this.limited)
                        notices.push(['info', LIMITED + ' ' + this.hint]);
                if (manager.DryRun)
                        notices.push(['info', DRY_RUN]);
                for (const [kind, name, why] of manager.Degraded)
                        notices.push(['warning', cockpit.format(DEGRADED, kind, name, why)]);
                set_children(
                        this.notices, notices, ([kind, text]) => kind + text,
                        ([kind, text]) => element('p', {class: 'notice ' + kind}, foreign(text)),
                        () => {});
        }

        pause_text(pause) {
                const text = cockpit.format(_("Paused by $0: $1."), pause.owner.v, pause.reason.v);

                return pause.until_usec.v > 0 ?
                        text + ' ' + cockpit.format(_("Until $0."), moment(pause.until_usec.v)) :
                        text;
        }

        toggle_pause() {
                const lasting = this.daemon.manager.Pauses.some(pause => pause.lasting.v);

                if (lasting)
                        this.run(this.daemon.call('Resume', ''), _("idled stays paused"));
                else
                        this.run(
                                this.daemon.call('Pause', 'st', 'Cockpit', PAUSE_USEC),
                                _("idled was not paused"));
        }

        /* The daemon's message for a call that failed, with a hint. */
        explain(error) {
                const text = error.message || cockpit.message(error);

                return DENIED.includes(error.name) ? text + '\n' + this.hint : text;
        }

        /* Waits for a call, and shows its error if it fails. */
        run(call, failure) {
                call.then(() => this.errors.replaceChildren(), error => {
                        this.errors.replaceChildren(element(
                                'div', {class: 'notice danger'}, element('strong', {}, failure),
                                element('p', {}, foreign(this.explain(error))),
                                button(_("Close"), 'secondary',
                                       () => this.errors.replaceChildren())));
                });
        }
}

new Page();
