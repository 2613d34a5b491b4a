/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of options, with one form per option. The daemon checks each value, and its message
 * appears below a value that it refuses.
 *
 * A value that is set here lasts until the daemon ends. No method on the bus writes configuration
 * files, so the card shows the idlectl command that does.
 */
import {group_by} from './daemon.js';
import {button, card, element, foreign} from './dom.js';
import {shell_word} from './format.js';

const _ = cockpit.gettext;
const fill = cockpit.format;

function id_of({section, key}) {
        return 'option-' + section + '-' + key;
}

/* Where a value comes from; nothing for a default. */
function source_text({section, key, value, runtime, source}) {
        const command = 'idlectl set --save ' + section + ' ' + shell_word(key + '=' + value);

        if (runtime)
                return fill(_("Set until idled ends. To keep it: $0"), command);
        return source === 'default' ? '' : fill(_("From $0"), source);
}

export class Options {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.typed = {};  /* by option: what the user has typed but not applied */
                this.errors = {}; /* by option: the daemon's message */
        }

        /* Sets an option. The daemon's error appears below it. */
        async apply({section, key}, value) {
                const id = id_of({section, key});

                try {
                        await this.daemon.call('SetOptions', 'a(sss)', [[section, key, value]]);
                        delete this.typed[id];
                        delete this.errors[id];
                        this.daemon.read_settings();
                } catch (error) {
                        this.errors[id] = this.page.explain(error);
                        this.page.draw_soon();
                }
        }

        form(setting) {
                const id = id_of(setting), value = this.typed[id] ?? setting.value;
                const source = source_text(setting);
                const help =
                        fill(_("$0. Expected: $1. Default: $2."), setting.help, setting.expects,
                             setting.default || _("empty"));
                /* Draws at once: the Enter key submits nothing while the button is disabled. */
                const type = event => {
                        const text = event.target.value;

                        this.typed[id] = text === setting.value ? undefined : text;
                        this.page.draw();
                };
                const submit = event => {
                        event.preventDefault();
                        this.apply(setting, value);
                };

                return element(
                        'form', {key: id, class: 'option', 'data-option': id, onsubmit: submit},
                        element('label', {'for': id}, element('strong', {}, setting.key)),
                        element('input', {
                                id,
                                class: 'input',
                                type: 'text',
                                autocomplete: 'off',
                                spellcheck: 'false',
                                value,
                                'aria-describedby': id + '-help ' + id + '-error',
                                'aria-invalid': id in this.errors && 'true',
                                oninput: type,
                        }),
                        element('button', {
                                type: 'submit',
                                class: 'button primary',
                                disabled: value === setting.value
                        },
                                _("Apply")),
                        button(_("Reset"), 'secondary', () => this.apply(setting, ''), {
                                'aria-label': fill(_("Reset $0"), setting.key),
                                hidden: !setting.runtime
                        }),
                        element('p', {class: 'error', id: id + '-error', role: 'alert'},
                                this.errors[id] || ''),
                        element('p', {class: 'subtle', id: id + '-help'}, help),
                        element('p', {class: 'subtle source'},
                                source && element('code', {}, source)));
        }

        section([name, settings]) {
                const changed = settings.filter(setting => setting.runtime).length;

                return element(
                        'details', {key: name, 'data-section': name},
                        element('summary', {}, foreign(name),
                                changed === 0 ?
                                        null :
                                        element('span', {class: 'label'},
                                                fill(_("$0 set until idled ends"), changed))),
                        element('div', {}, ...settings.map(setting => this.form(setting))));
        }

        card() {
                const sections = group_by(this.daemon.settings, setting => setting.section);
                const hint = _("A value that is set here lasts until idled ends.") + ' ' +
                        _("An empty value restores the configured one.");
                const reload = () => this.page.run(
                        this.daemon.call('Reload', ''),
                        _("The configuration was not reloaded; the running one stays in effect"));

                return card(
                        'options', _("Options"),
                        button(_("Reload configuration files"), 'secondary', reload,
                               {id: 'reload'}),
                        element('p', {class: 'subtle'}, hint),
                        element('div', {}, ...[...sections].map(section => this.section(section))));
        }
}
