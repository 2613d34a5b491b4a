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

function each(object, change) {
        return Object.fromEntries(
                Object.entries(object).map(([name, value]) => [name, change(value)]));
}

export function plain(variants) {
        return each(variants, variant => variant.v);
}

function plain_all(interfaces) {
        return each(interfaces, plain);
}

/* Map.groupBy(), which browsers have only since the end of 2023. */
export function group_by(items, key_of) {
        const groups = new Map();

        for (const item of items)
                groups.set(key_of(item), [...groups.get(key_of(item)) ?? [], item]);
        return groups;
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
                if (!this.hurried && !cockpit.hidden) {
                        this.hurried = true;
                        this.read_after(SOON_MS);
                }
        }

        /* Reads then, or as soon as reading takes no more than its share of the time. */
        read_after(delay) {
                window.clearTimeout(this.timer);
                this.timer = window.setTimeout(
                        () => this.follow(), Math.max(delay, this.earliest - performance.now()));
        }

        merge(path, name, properties) {
                Object.assign(this.objects[path]?.[name] || {}, properties);
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

        async read() {
                const client = this.client, began = performance.now();
                let state = 'running', problem = '', found = [];

                try {
                        found = await Promise.all([
                                client.call(ROOT, PROPERTIES, 'GetAll', [MANAGER], {type: 's'}),
                                client.call(ROOT, OBJECTS, 'GetManagedObjects', [], {type: ''}),
                        ]);
                } catch (error) {
                        state = 'lost';
                        problem = error.message || cockpit.message(error);
                }
                if (client !== this.client)
                        return;
                if (state === 'running') {
                        const [[manager], [objects]] = found;

                        this.manager = plain(manager);
                        this.objects = each(objects, plain_all);
                        this.objects[ROOT] = {[MANAGER]: this.manager};
                }
                this.state = state;
                this.problem = problem;
                this.earliest = performance.now() + SHARE * (performance.now() - began);
                this.changed();
                if (!this.hurried)
                        this.read_after(PERIOD_MS);
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
