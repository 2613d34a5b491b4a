/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page: its cards, notices and errors. It is drawn at most once a frame.
 */
import {Cpus} from './cpus.js';
import {Daemon} from './daemon.js';
import {button, draw, element, foreign} from './dom.js';
import {count_cpus, decimal, moment, watts} from './format.js';
import {holds_card} from './holds.js';
import {Options} from './options.js';
import {policies_card, power_card} from './power.js';
import {profiles_card} from './profiles.js';
import {Waits} from './waits.js';

const _ = cockpit.gettext;
const fill = cockpit.format;

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
                this.asked = 0;      /* the requested frame */
                this.failure = null; /* [what did not work, the daemon's message, its number] */
                this.failures = 0;
                this.content = [];
                this.permission = cockpit.permission({admin: true});
                this.permission.addEventListener('changed', () => this.draw_soon());
                this.daemon = new Daemon(() => this.draw_soon());
                this.cpus = new Cpus(this.daemon, this);
                this.waits = new Waits(this.daemon, this);
                this.options = new Options(this.daemon, this);
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
                document.body.dataset.state = this.daemon.state;
                /* The hidden content keeps what the user opened. */
                if (running)
                        this.content = [this.head(), this.notices(), this.cards()];
                draw(document.getElementById('page'), [
                        element('div', {id: 'errors', role: 'alert'},
                                this.failure && this.error(...this.failure)),
                        running ? null : this.empty(),
                        element('div', {id: 'content', hidden: !running}, ...this.content),
                ]);
        }

        empty() {
                const stopped = this.daemon.state === 'stopped';

                return element(
                        'section', {class: 'empty', id: 'empty'},
                        element('h1', {}, TITLES[this.daemon.state]),
                        element('p', {}, stopped ? STOPPED : this.daemon.problem),
                        stopped ? element('p', {}, element('code', {}, START)) : null,
                        stopped ? button(_("Show the service"), 'primary',
                                         () => cockpit.jump('/system/services#/idled.service')) :
                                  null);
        }

        head() {
                const manager = this.daemon.manager;
                const packages = this.daemon.all('Energy', 'Name')
                                         .filter(domain => /^package/.test(domain.Name) &&
                                                         !domain.Parent && domain.Power >= 0);
                const power = packages.reduce((sum, domain) => sum + domain.Power, 0);
                const part = (n, all) => fill(_("$0 of $1"), n, all);
                const parked = part(count_cpus(manager.Parked), count_cpus(manager.Online));
                const paused = manager.Pauses.some(pause => pause.lasting.v);
                const figures =
                        [
                                [_("CPUs parked"), parked],
                                [_("Cores active"), part(manager.ActiveCores, manager.Cores)],
                                [_("CPUs busy"), decimal(manager.Load, 2)],
                                [
                                        _("Power"),
                                        packages.length > 0 ? watts(power) : _("not measured")
                                ],
                                [_("Profile"), manager.Profile],
                        ].map(([term, value]) =>
                                      element('li', {}, element('strong', {}, value),
                                              element('span', {class: 'subtle'}, term)));

                return element(
                        'header', {class: 'page-head'}, element('h1', {}, _("CPU power")),
                        element('ul', {class: 'figures', 'aria-label': _("Summary")}, ...figures),
                        button(paused ? _("Resume") : _("Pause for an hour"), 'secondary',
                               () => this.pause(!paused), {id: 'pause'}));
        }

        notices() {
                const manager = this.daemon.manager;
                const notices = manager.Pauses.map(pause => ['info', this.pause_text(pause)]);

                if (this.limited)
                        notices.push(['info', LIMITED + ' ' + this.hint]);
                if (manager.DryRun)
                        notices.push(['info', DRY_RUN]);
                for (const [kind, name, why] of manager.Degraded)
                        notices.push(['warning', fill(DEGRADED, kind, name, why)]);
                return element(
                        'div', {id: 'notices'},
                        ...notices.map(
                                ([kind, text]) =>
                                        element('p', {key: kind + text, class: 'notice ' + kind},
                                                foreign(text))));
        }

        cards() {
                const column = (...cards) => element('div', {class: 'column'}, ...cards);

                return element(
                        'div', {class: 'cards'}, this.cpus.card(),
                        column(power_card(this.daemon), profiles_card(this.daemon, this)),
                        column(policies_card(this.daemon), holds_card(this.daemon, this)),
                        this.waits.card(), this.options.card());
        }

        pause_text(pause) {
                const text = fill(_("Paused by $0: $1."), pause.owner.v, pause.reason.v);

                return pause.until_usec.v > 0 ?
                        text + ' ' + fill(_("Until $0."), moment(pause.until_usec.v)) :
                        text;
        }

        pause(on) {
                if (on)
                        this.run(
                                this.daemon.call('Pause', 'st', 'Cockpit', PAUSE_USEC),
                                _("idled was not paused"));
                else
                        this.run(this.daemon.call('Resume', ''), _("idled stays paused"));
        }

        /* The daemon's message for a call that failed, with a hint. */
        explain(error) {
                const text = error.message || cockpit.message(error);

                return DENIED.includes(error.name) ? text + '\n' + this.hint : text;
        }

        /* The same one again is another element, so that it is spoken again. */
        error(what, why, key) {
                return element(
                        'div', {key, class: 'notice danger'}, element('strong', {}, what),
                        element('p', {}, foreign(why)),
                        button(_("Close"), 'secondary', () => this.fail(null)));
        }

        /* Shows what did not work, and why; null: nothing. */
        fail(failure) {
                this.failure = failure && [...failure, ++this.failures];
                this.draw();
        }

        /* Waits for a call, and shows its error if it fails. */
        run(call, what) {
                return call.then(
                        () => this.fail(null), error => this.fail([what, this.explain(error)]));
        }
}

new Page();
