/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Creates elements, and changes only those parts of the document that differ.
 *
 * Names of processes and reasons of holds come from other programs. They become text nodes and
 * attributes. No module parses HTML.
 */

/* Returns a new element. A function among the attributes is an event handler: {onclick: f}.
 * Children are nodes or texts; null is skipped. */
export function element(tag, attributes, ...children) {
        const node = document.createElement(tag);

        for (const [name, value] of Object.entries(attributes || {})) {
                if (typeof value === 'function')
                        node.addEventListener(name.slice(2), value);
                else
                        set(node, name, value);
        }
        node.append(...children.filter(child => child !== null));
        return node;
}

/* A text of another program. Its writing direction does not reorder the text around it. The style
 * sheet isolates the values of a <dl> in the same way. */
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
                element('div', {class: 'card-head'}, heading, action),
                element('div', {class: 'card-body'}, ...children));
}

/* A table that scrolls, with `body` (a <tbody>) below these heads. */
export function table(attributes, heads, body) {
        const head = heads.map(text => element('th', {scope: 'col'}, text));

        return element(
                'div', {class: 'scroll'},
                element('table', {class: 'table', ...attributes},
                        element('thead', {}, element('tr', {}, ...head)), body));
}

/* Sets an attribute. true sets an empty one; false and null remove it. */
export function set(node, name, value) {
        const text = value === true ? '' : value === false || value === null ? null : String(value);

        if (node.getAttribute(name) === text)
                return;
        if (text === null)
                node.removeAttribute(name);
        else
                node.setAttribute(name, text);
}

export function set_text(node, text) {
        if (node.textContent !== text)
                node.textContent = text;
}

/* Gives `parent` one child per item, in this order. create(item) makes the node of a new key,
 * update(node, item) updates it, and it is removed when no item has its key. */
export function set_children(parent, items, key_of, create, update) {
        const known = new Map();
        let next = parent.firstChild;

        for (const child of parent.children)
                known.set(child.dataset.key, child);
        for (const item of items) {
                const key = String(key_of(item));
                let node = known.get(key);

                if (!node) {
                        node = create(item);
                        node.dataset.key = key;
                }
                known.delete(key);
                if (node === next)
                        next = next.nextSibling;
                else
                        parent.insertBefore(node, next);
                update(node, item);
        }
        for (const node of known.values())
                node.remove();
}

/* As set_children(), for items {key, cells} of a <tbody>, where cells are texts. */
export function set_rows(body, items) {
        set_children(
                body, items, item => item.key,
                item => element('tr', {}, ...item.cells.map(() => element('td'))),
                (node, item) => item.cells.forEach((text, n) => set_text(node.children[n], text)));
}

/* As set_children(), for rows [term, text] of a <dl>. Rows without a text are skipped. */
export function set_terms(list, rows) {
        set_children(
                list, rows.filter(([, text]) => text), ([term]) => term,
                ([term]) => element('div', {}, element('dt', {}, term), element('dd')),
                (node, [, text]) => set_text(node.lastChild, text));
}
