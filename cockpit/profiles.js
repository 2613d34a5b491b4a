/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The card of profiles: the profile in effect with its reason, and a button to choose each.
 */
import {button, card, element, terms} from './dom.js';

const _ = cockpit.gettext;

export function profiles_card(daemon, page) {
        const manager = daemon.manager;
        const choose = name =>
                page.run(daemon.call('SetProfile', 's', name), _("The profile was not changed"));
        const row = ([name, summary]) => {
                const active = name === manager.Profile, chosen = name === manager.ChosenProfile;
                const label = active ? _("in effect") : _("chosen");
                const use = button(_("Use"), 'secondary', () => choose(name), {
                        'aria-label': cockpit.format(_("Use $0"), name),
                        disabled: chosen,
                });

                return element(
                        'li', {key: name, 'data-profile': name, 'aria-current': active && 'true'},
                        element('div', {class: 'row-head'}, element('strong', {}, name),
                                active || chosen ? element('span', {class: 'label'}, label) : null,
                                use),
                        element('p', {class: 'subtle'}, summary));
        };

        return card(
                'profiles', _("Profiles"),
                button(_("Choose automatically"), 'secondary', () => choose(''),
                       {id: 'profile-auto', disabled: manager.ChosenProfile === ''}),
                terms([
                        [_("In effect"), manager.Profile],
                        [_("Why"), manager.ProfileReason],
                        [_("Not in effect"), manager.ProfileInhibited],
                ]),
                element('ul', {class: 'rows'}, ...manager.Profiles.map(row)));
}
