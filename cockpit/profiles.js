/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of profiles: the profile in effect with its reason, and a button to choose each.
 */
import {button, card, element, set, set_children, set_terms, set_text} from './dom.js';

const _ = cockpit.gettext;

export class Profiles {
        constructor(daemon, page) {
                this.daemon = daemon;
                this.page = page;
                this.list = element('ul', {class: 'rows'});
                this.terms = element('dl', {class: 'terms'});
                this.automatic =
                        button(_("Choose automatically"), 'secondary', () => this.choose(''),
                               {id: 'profile-auto'});
                this.node = card('profiles', _("Profiles"), this.automatic, this.terms, this.list);
        }

        choose(name) {
                this.page.run(
                        this.daemon.call('SetProfile', 's', name),
                        _("The profile was not changed"));
        }

        create([name, summary]) {
                return element(
                        'li', {'data-profile': name},
                        element('div', {class: 'row-head'}, element('strong', {}, name),
                                element('span', {class: 'label'}),
                                button(_("Use"), 'secondary', () => this.choose(name),
                                       {'aria-label': cockpit.format(_("Use $0"), name)})),
                        element('p', {class: 'subtle'}, summary));
        }

        update_row(node, name) {
                const manager = this.daemon.manager;
                const [, label, use] = node.firstChild.children;
                const active = name === manager.Profile, chosen = name === manager.ChosenProfile;

                set(node, 'aria-current', active && 'true');
                set(label, 'hidden', !active && !chosen);
                set_text(label, active ? _("in effect") : _("chosen"));
                set(use, 'disabled', chosen);
        }

        update() {
                const manager = this.daemon.manager;

                set(this.automatic, 'disabled', manager.ChosenProfile === '');
                set_terms(this.terms, [
                        [_("In effect"), manager.Profile],
                        [_("Why"), manager.ProfileReason],
                        [_("Not in effect"), manager.ProfileInhibited],
                ]);
                set_children(
                        this.list, manager.Profiles, ([name]) => name, row => this.create(row),
                        (node, [name]) => this.update_row(node, name));
        }
}
