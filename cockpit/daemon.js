/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of org.idled1, kept up to date.
 *
 * Decided properties arrive as signals. Measured properties of all objects are read with two calls:
 * every two seconds, less often if an answer takes long, and not while the page is hidden. The
 * message bus reports when idled starts and stops.
 */
const _ = cockpit.gettext;

const NAME = 'org.idled1';
const ROOT = '/org/idled1';
const MANAGER = 'org.idled1.Manager';
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const OBJECTS = 'org.freedesktop.DBus.ObjectManager';
const BUS_NAME = 'org.freedesktop.DBus';
const BUS_PATH = '/org/freedesktop/DBus';

const PERIOD_MS = 2000;
/* Between a signal and a reading, because signals often come in groups. */
const SOON_MS = 100;
const SETTINGS_MS = 50;
/* Reading takes at most 1/SHARE of the time. */
const SHARE = 20;

export function plain(variants) {
        return Object.fromEntries(
                Object.entries(variants).map(([name, variant]) => [name, variant.v]));
}

function plain_all(interfaces) {
        return Object.fromEntries(
                Object.entries(interfaces).map(([name, variants]) => [name, plain(variants)]));
}

export class Daemon {
        /* Calls changed() after each change of the state. */
        constructor(changed) {
                this.changed = changed;
                this.state = 'unknown'; /* or running, stopped, lost */
                this.problem = '';      /* why the state is lost */
                this.client = null;
                this.timer = null;
                this.earliest = 0;    /* time of performance.now() before which nothing is read */
                this.hurried = false; /* a signal has scheduled the next reading */
                this.settings_timer = null;
                this.manager = null;
                this.objects = {}; /* path: interface: properties */
                this.settings = [];
                this.listen();
                cockpit.addEventListener('visibilitychange', () => this.follow());
        }

        /* Follows whether idled owns its name on the bus. */
        listen() {
                const bus = cockpit.dbus(BUS_NAME, {bus: 'system'});
                const match = {
                        path: BUS_PATH,
                        interface: BUS_NAME,
                        member: 'NameOwnerChanged',
                        arg0: NAME
                };

                bus.subscribe(match, (path, name, member, args) => this.open(args[2] !== ''));
                bus.addEventListener('close', (event, options) => this.lose(options.problem));
                bus.call(BUS_PATH, BUS_NAME, 'NameHasOwner', [NAME], {
                           type: 's'
                   }).then(([owned]) => this.open(owned), error => this.lose(error.problem));
        }

        lose(problem) {
                this.open(false);
                this.state = 'lost';
                this.problem = cockpit.message(problem || 'disconnected');
                this.changed();
        }

        /* Connects to the daemon that runs now; without one, drops its state. */
        open(owned) {
                const client = owned ? cockpit.dbus(NAME, {bus: 'system', superuser: 'try'}) : null;
                const former = this.client;

                this.client = client;
                if (former)
                        former.close();
                if (!client) {
                        this.state = 'stopped';
                        this.manager = null;
                        this.objects = {};
                        this.changed();
                        return;
                }
                client.subscribe({path_namespace: ROOT}, (path, name, member, args) => {
                        if (client === this.client)
                                this.hear(path, member, args);
                });
                client.addEventListener('close', (event, options) => {
                        if (client === this.client)
                                this.lose(options.problem);
                });
                this.read_settings();
                this.follow();
        }

        hear(path, member, args) {
                if (member === 'PropertiesChanged')
                        this.merge(path, args[0], plain(args[1]));
                else if (member === 'InterfacesAdded')
                        this.objects[args[0]] = {...this.objects[args[0]], ...plain_all(args[1])};
                else if (member === 'InterfacesRemoved')
                        delete this.objects[args[0]];
                this.changed();
                this.hurry();
        }

        /* Reads soon: measured properties, such as reasons, change with decided ones. */
        hurry() {
                if (this.hurried || cockpit.hidden)
                        return;
                this.hurried = true;
                window.clearTimeout(this.timer);
                this.timer = window.setTimeout(
                        () => this.follow(), Math.max(SOON_MS, this.earliest - performance.now()));
        }

        merge(path, name, properties) {
                if (path === ROOT && name === MANAGER && this.manager)
                        Object.assign(this.manager, properties);
                else if (this.objects[path] && this.objects[path][name])
                        Object.assign(this.objects[path][name], properties);
                if ('Options' in properties || 'ConfigFiles' in properties)
                        this.read_settings();
        }

        /* Reads now if the page is visible. */
        follow() {
                window.clearTimeout(this.timer);
                this.hurried = false;
                if (this.client && !cockpit.hidden)
                        this.read();
        }

        read() {
                const client = this.client, began = performance.now();
                const ask = (name, method, args, type, take) =>
                        client.call(ROOT, name, method, args, {type}).then(([answer]) => {
                                if (client === this.client)
                                        take(answer);
                        });
                const manager = ask(PROPERTIES, 'GetAll', [MANAGER], 's', properties => {
                        this.manager = plain(properties);
                });
                const objects = ask(OBJECTS, 'GetManagedObjects', [], '', found => {
                        this.objects = Object.fromEntries(Object.entries(found).map(
                                ([path, interfaces]) => [path, plain_all(interfaces)]));
                });

                Promise.all([manager, objects])
                        .then(() => this.note(client, 'running', '', began),
                              error => this.note(
                                      client, 'lost', error.message || cockpit.message(error),
                                      began));
        }

        /* Stores the outcome of a reading and schedules the next one. */
        note(client, state, problem, began) {
                const now = performance.now();

                if (client !== this.client)
                        return;
                this.earliest = now + SHARE * (now - began);
                this.state = state;
                this.problem = problem;
                this.changed();
                if (this.hurried)
                        return;
                window.clearTimeout(this.timer);
                this.timer = window.setTimeout(
                        () => this.follow(), Math.max(PERIOD_MS, this.earliest - now));
        }

        /* Reads the options after a delay, because a change of the configuration sends many
         * signals. */
        read_settings() {
                const client = this.client;

                window.clearTimeout(this.settings_timer);
                this.settings_timer = window.setTimeout(() => {
                        client.call(ROOT, MANAGER, 'GetSettings', [], {type: ''}).then(([rows]) => {
                                if (client !== this.client)
                                        return;
                                this.settings = rows.map(plain);
                                this.changed();
                        }, () => {});
                }, SETTINGS_MS);
        }

        /* Calls a method of the manager; returns a promise. */
        call(method, type, ...args) {
                return this.client ? this.client.call(ROOT, MANAGER, method, args, {type}) :
                                     Promise.reject({message: _("idled is not running")});
        }

        /* The properties of all objects of a kind ("Cpu", "Policy", "Energy", "Hold"), each with
         * its path, in the order of `key`. */
        all(kind, key) {
                const name = NAME + '.' + kind;

                return Object.entries(this.objects)
                        .filter(([, interfaces]) => interfaces[name])
                        .map(([path, interfaces]) => ({path, ...interfaces[name]}))
                        .sort((a, b) => a[key] - b[key]);
        }
}
