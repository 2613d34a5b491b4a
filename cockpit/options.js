/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of options, with one form per option. The daemon checks each value, and its message
 * appears below a value that it refuses.
 *
 * A value that is set here lasts until the daemon ends. No method on the bus writes configuration
 * files, so the card shows the idlectl command that does.
 */
import {button, card, element, foreign, set, set_children, set_text} from './dom.js';
import {shell_word} from './format.js';

const _ = cockpit.gettext;

function id_of({section, key}) {
        return 'option-' + section + '-' + key;
}

function save_command({section, key, value}) {
        return 'idlectl set --save ' + section + ' ' + shell_word(key + '=' + value);
}

export class Options {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.sections = element('div');
                this.node =
                        card('options', _("Options"),
                             button(_("Reload configuration files"), 'secondary',
                                    () => this.reload(), {id: 'reload'}),
                             element('p', {class: 'subtle'},
                                     _("A value that is set here lasts until idled ends.") + ' ' +
                                             _("An empty value restores the configured one.")),
                             this.sections);
        }

        reload() {
                this.page.run(
                        this.daemon.call('Reload', ''),
                        _("The configuration was not reloaded; the running one stays in effect"));
        }

        /* Sets the option of a form, and shows the daemon's error below it. */
        apply(form, setting, value) {
                const input = form.querySelector('input'), error = form.querySelector('.error');

                this.daemon.call('SetOptions', 'a(sss)', [[setting.section, setting.key, value]])
                        .then(
                                () => {
                                        set(input, 'aria-invalid', null);
                                        set_text(error, '');
                                        form.dataset.seen = input.value;
                                        this.daemon.read_settings();
                                },
                                failure => {
                                        set(input, 'aria-invalid', 'true');
                                        set_text(error, this.page.explain(failure));
                                });
        }

        create(setting) {
                const id = id_of(setting);
                const input = element('input', {
                        id,
                        class: 'input',
                        type: 'text',
                        autocomplete: 'off',
                        spellcheck: 'false',
                        'aria-describedby': id + '-help ' + id + '-error',
                        oninput: () => this.update(),
                });
                const form = element(
                        'form', {class: 'option', 'data-option': id},
                        element('label', {'for': id}, setting.key), input,
                        element('button', {type: 'submit', class: 'button primary'}, _("Apply")),
                        button(_("Reset"), 'secondary', () => this.apply(form, setting, ''),
                               {'aria-label': cockpit.format(_("Reset $0"), setting.key)}),
                        element('p', {class: 'error', id: id + '-error', role: 'alert'}),
                        element('p', {class: 'subtle', id: id + '-help'}),
                        element('p', {class: 'subtle source'}));

                form.addEventListener('submit', event => {
                        event.preventDefault();
                        this.apply(form, setting, input.value);
                });
                return form;
        }

        /* Keeps a value that the user has typed but not applied. */
        update_form(form, setting) {
                const [, input, apply, reset, , help, source] = form.children;

                if (form.dataset.seen === undefined || input.value === form.dataset.seen) {
                        if (input.value !== setting.value)
                                input.value = setting.value;
                        form.dataset.seen = setting.value;
                }
                set(apply, 'disabled', input.value === setting.value);
                set(reset, 'hidden', !setting.runtime);
                set_text(
                        help,
                        cockpit.format(
                                _("$0. Expected: $1. Default: $2."), setting.help, setting.expects,
                                setting.default || _("empty")));
                if (setting.runtime)
                        set_text(
                                source,
                                cockpit.format(
                                        _("Set until idled ends. To keep it: $0"),
                                        save_command(setting)));
                else
                        set_text(
                                source,
                                setting.source === 'default' ?
                                        '' :
                                        cockpit.format(_("From $0"), setting.source));
        }

        create_section(name) {
                return element(
                        'details', {'data-section': name},
                        element('summary', {}, foreign(name), element('span', {class: 'label'})),
                        element('div'));
        }

        update_section(node, settings) {
                const [summary, forms] = node.children;
                const changed = settings.filter(setting => setting.runtime).length;

                set(summary.lastChild, 'hidden', changed === 0);
                set_text(summary.lastChild, cockpit.format(_("$0 set until idled ends"), changed));
                set_children(
                        forms, settings, id_of, setting => this.create(setting),
                        (form, setting) => this.update_form(form, setting));
        }

        update() {
                const sections = new Map();

                for (const setting of this.daemon.settings)
                        sections.set(
                                setting.section,
                                [...(sections.get(setting.section) || []), setting]);
                set_children(
                        this.sections, [...sections], ([name]) => name,
                        ([name]) => this.create_section(name),
                        (node, [, settings]) => this.update_section(node, settings));
        }
}
