/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Describes elements, and changes only those parts of the document that differ from a description.
 *
 * Names of processes and reasons of holds come from other programs. They become text nodes and
 * attributes. No module parses HTML.
 */

/* Describes an element. A function among the attributes is an event handler: {onclick: f}. `key`
 * identifies it in a list. Children are descriptions or texts; null is skipped. */
export function element(tag, {key, ...attributes} = {}, ...children) {
        return {tag, key, attributes, children};
}

/* A text of another program. Its writing direction does not reorder the text around it. The
 * browser isolates blocks, such as <p>, <dd> and <td>, in the same way. */
export function foreign(text) {
        return element('bdi', {}, text);
}

export function button(text, kind, onclick, attributes) {
        return element(
                'button', {type: 'button', class: 'button ' + kind, onclick, ...attributes}, text);
}

/* A card with a heading, a button next to it (or null), and contents. */
export function card(id, title, action, ...children) {
        const heading = element('h2', {id: id + '-title'}, title);

        return element(
                'section', {class: 'card', id, 'aria-labelledby': id + '-title'},
                element('div', {class: 'card-head'}, heading, action), ...children);
}

/* A table that scrolls: titles of its columns, and rows of texts. The first of a row is its key. */
export function table(attributes, titles, rows) {
        const head = titles.map(text => element('th', {scope: 'col'}, text));
        const body = rows.map(
                ([key, ...cells]) =>
                        element('tr', {key}, ...cells.map(text => element('td', {}, text))));

        return element(
                'div', {class: 'scroll'},
                element('table', {class: 'table', ...attributes},
                        element('thead', {}, element('tr', {}, ...head)),
                        element('tbody', {}, ...body)));
}

/* Rows [term, text]. Rows without a text are skipped. */
export function terms(rows) {
        const shown = rows.filter(([, text]) => text)
                              .map(([key, text]) =>
                                           element('div', {key}, element('dt', {}, key),
                                                   element('dd', {}, text)));

        return element('dl', {class: 'terms'}, ...shown);
}

/* Sets an attribute. true sets an empty one; false removes it. Cockpit's policy allows styles only
 * as properties. */
function set(node, name, value) {
        const is_property = name === 'value' || typeof value === 'function';
        const is_style = name === 'width' || name === 'background';
        const owner = is_style ? node.style : is_property ? node : null;
        const text = value === true ? '' : String(value);

        if (owner) {
                if (owner[name] !== value)
                        owner[name] = value;
        } else if (value === false) {
                node.removeAttribute(name);
        } else if (node.getAttribute(name) !== text) {
                node.setAttribute(name, text);
        }
}

/* Gives `parent` these children. A node stays while there is a child with its key, or without a key
 * but with its place and tag. */
export function draw(parent, children) {
        const key_of = (child, place) => child?.key ?? `${place} ${child?.tag}`;
        const shown = new Map(children.map((child, place) => [key_of(child, place), child])
                                      .filter(([, child]) => child !== null));
        const known = new Map([...parent.childNodes].map(node => [node.key, node]));
        let next;

        for (const [key, node] of known)
                if (!shown.has(key))
                        node.remove();
        next = parent.firstChild;
        for (const [key, child] of shown) {
                const is_text = typeof child === 'string';
                const node = known.get(key) ||
                        (is_text ? new Text() : document.createElement(child.tag));

                if (node === next)
                        next = next.nextSibling;
                else
                        parent.insertBefore(node, next);
                node.key = key;
                if (!is_text) {
                        for (const [name, value] of Object.entries(child.attributes))
                                set(node, name, value);
                        draw(node, child.children);
                } else if (node.data !== child) {
                        node.data = child;
                }
        }
}
