/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds a page of idlelab from its data, an object {VERB: ANSWER}: texts, tables and plots.
 * dygraphs draws values over time; curves, histograms, points and bars are drawn here as SVG.
 *
 * Names come from other machines: they are set as text, never as markup.
 */
const data = document.getElementById("data");
const page = JSON.parse(data.textContent);
const dashes = [ null, [ 7, 4 ], [ 2, 3 ], [ 9, 3, 2, 3 ] ];
const near = 12;                      // pixels from an event that still hit it
const tableRows = 60;                 // of the table of a plot over time
const ofOne = 0.5;                    // a count of 1 stands above an axis from here
const ticks = 7;                      // of an axis, at most
const printed = [ "640px", "272px" ]; // size of a plot over time on paper
const height = 280;                   // of a drawing, in its own units
const graphs = [];                    // functions that set colours and sizes again

// The legend is ours: that of dygraphs needs inline styles, which the page forbids.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

// A colour of the style sheet as it is now, for a canvas.
const css = (name) => {
        data.style.color = `var(${name})`;
        return getComputedStyle(data).color;
};

// Characters that would change how the text around them reads are replaced.
const clean = (text) =>
        String(text).replace(/[\t\n]/g, " ").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");

const add = (made, attributes, children) => {
        for (const [name, value] of Object.entries(attributes))
                if (value !== undefined && value !== null && value !== false)
                        made.setAttribute(name, value);
        made.append(...children.map((c) => c instanceof Node ? c : clean(c)));
        return made;
};
const element = (name, attributes = {}, ...children) => add(document.createElement(name),
                                                            attributes, children);
const shape = (name, attributes, ...children) => add(
        document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Four digits at most; what is not known is a dash.
const number = (value) => {
        if (value === null || value === undefined || Number.isNaN(value))
                return "-";
        return String(Number(value.toPrecision(Math.abs(value) >= 1000 ? 6 : 4)));
};

// "2.5M" instead of 2500000, for axes.
const short = (value) => {
        let prefix = 0;
        if (Math.abs(value) >= 10000)
                for (; prefix < 6 && Math.abs(value) >= 1000; prefix++)
                        value /= 1000;
        return Number(value.toPrecision(6)) + [ "", "k", "M", "G", "T", "P", "E" ][prefix];
};

const time = (seconds) =>
        Math.abs(seconds) < 2e11
                ? new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19)
                : "-";

// With a unit by size: [least value, unit].
const scaled = (value, units) => {
        const [least, unit] = units.find(([ least ]) => Math.abs(value) >= least) ?? units.at(-1);
        return `${Number((value / least).toPrecision(3))} ${unit}`;
};
const micros = (us) => scaled(us, [ [ 1e6, "s" ], [ 1e3, "ms" ], [ 1, "us" ] ]);
const joules = (value) => scaled(value, [ [ 1e6, "MJ" ], [ 1e3, "kJ" ], [ 1, "J" ] ]);

// "3 min 55 s", so that power times this is the energy next to it.
const span = (seconds) => {
        const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
        return minutes < 1 ? `${Math.floor(seconds)} s`
               : hours < 1 ? `${minutes} min ${Math.floor(seconds - 60 * minutes)} s`
                           : `${hours} h ${minutes - 60 * hours} min`;
};

const fixed = (value, decimals, unit = "") => value === null ? null
                                                             : `${value.toFixed(decimals)}${unit}`;
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// --- tables -----------------------------------------------------------------------------
const makeTable = (table) => {
        const makeRow = (cells, id, scopes) => {
                const row = element("tr", { id });
                cells.forEach((text, i) => {
                        const scope = scopes[Math.min(i, 1)];
                        const attributes = { scope, class : table.columns[i].number && "number" };
                        row.append(element(scope ? "th" : "td", attributes,
                                           typeof text === "number" ? number(text) : text ?? "-"));
                });
                return row;
        };
        const titles = table.columns.map((column) => column.title);
        const rows = table.rows.map((row, r) => makeRow(row, table.ids?.[r], [ "row" ]));
        const made = element("table", { class : table.class },
                             element("thead", {}, makeRow(titles, null, [ "col", "col" ])),
                             element("tbody", {}, ...rows));
        if (table.caption)
                made.prepend(element("caption", {}, table.caption));
        return element("div", { class : "wide" }, made);
};

// Columns behind the first are of numbers.
const tableOf = (titles, rows, numbers = true) => (
        { columns : titles.map((title, i) => ({ title, number : numbers && i > 0 })), rows });

// A table that is built when it is opened: some have thousands of rows.
const fold = (table) => {
        const made = element("details", {}, element("summary", {}, "Values as a table"));
        made.addEventListener("toggle", () => made.append(makeTable(table())), { once : true });
        return made;
};

// --- axes -------------------------------------------------------------------------------
// A distance between ticks: 1, 2 or 5 times a power of ten, at least `least`.
const tickDistance = (least) => {
        const power = 10 ** Math.floor(Math.log10(least));
        return [ 1, 2, 5, 10 ].find((f) => f * power >= least * (1 - 1e-9)) * power;
};

// Where values stand between 0 and 1, and where ticks are. On a logarithmic axis only values
// above 0 count, and ticks are at powers of ten.
const findScale = ({ log, from }, values) => {
        const scaled = log ? Math.log10 : (value) => value;
        const known =
                values.map((value) => value === null ? NaN : scaled(value)).filter(Number.isFinite);
        const min = known.length ? known.reduce((a, b) => Math.min(a, b)) : 0;
        let max = known.length ? known.reduce((a, b) => Math.max(a, b)) : 1;
        if (max <= min && !log)
                max = min + Math.max(Math.abs(min), 1);
        const unit = log ? 1 : tickDistance((max - min) / ticks), at = [];
        const begin = from ? Math.ceil(scaled(from)) : Math.floor(min / unit + 1e-9) * unit,
              end = Math.max(Math.ceil(max / unit - 1e-9) * unit, begin + unit);
        const step = log ? Math.ceil((end - begin) / ticks) : unit;
        for (let k = 0; begin + k * step <= end + step * 1e-9; k++)
                at.push(log ? 10 ** (begin + k * step) : (begin / step + k) * step);
        const low = from ? scaled(from) : begin;
        const place = (value) => Math.min(Math.max((scaled(value) - low) / (end - low), 0), 1);
        return { place, at, range : [ low, end ] };
};

// --- drawings ---------------------------------------------------------------------------
// A sample of a colour with its name.
const sample = (colour, name, className) => {
        const made = element("i", { class : className });
        made.style.background = `var(${colour})`;
        return element("span", {}, made, name);
};
const drawLegend = (names) => {
        const samples = names.map((name, i) => sample(`--c${i % 8}`, name ?? ""));
        return names.some(Boolean) ? element("div", { class : "legend" }, ...samples) : "";
};

const label = (x, y, text, className) => shape("text", { x, y, class : className }, text);

// What shows its values when the pointer is on it.
const mark = (name, colour, attributes, title) => shape(
        name, { fill : `var(--c${colour % 8})`, ...attributes }, shape("title", {}, title));

const drawing = (width, high, shapes) => shape(
        "svg", { viewBox : `0 0 ${width} ${high}`, "aria-hidden" : "true" }, ...shapes);

const path = (className, d, stroke) => shape("path", { class : className, d, stroke });

const drawAxes = (axes, x, y, box) => [
        // Lines of the grid with their values next to one end.
        ...x.at.flatMap((value) => [path("grid", `M${box.x(value)} ${box.top}V${box.bottom}`),
                                    label(box.x(value), box.bottom + 17, short(value), "middle")]),
        ...y.at.flatMap((value) => [path("grid", `M${box.left} ${box.y(value)}H${box.right}`),
                                    label(box.left - 6, box.y(value) + 4, short(value), "end")]),
        path("axis", `M${box.left} ${box.top}V${box.bottom}H${box.right}`),
        label((box.left + box.right) / 2, height - 6, axes.x.title, "middle"),
        add(label(-(box.top + box.bottom) / 2, 14, axes.y.title, "middle"),
            { transform : "rotate(-90)" }, [])];

const drawSteps = (points, box, colour) => {
        let d = "";
        points.forEach(([ x, y ], i) => {
                const [end] = points[i + 1] ?? [ x ];
                if (y > 0)
                        d += `${d ? "V" : `M${box.x(x)} `}${box.y(y)}H${box.x(end)}`;
        });
        return [ path("line", d, `var(--c${colour % 8})`) ];
};

// Each from where it begins to where it ends.
const drawBars = (points, box, colour) => points.map(([ x, y, to ]) => {
        const from = box.x(x), top = box.y(y);
        const width = Math.max(box.x(to) - from - 0.5, 0.5), height = Math.max(box.bottom - top, 0);
        return mark("rect", colour, { x : from, y : top, width, height },
                    `${short(x)} to ${short(to)}: ${number(y)}`);
});

// Each label stands right of its point, as near as it covers no other label, and in the plot.
const drawPoints = (points, box, colour, taken) => points.flatMap(([ x, y, name ]) => {
        const cx = box.x(x), cy = box.y(y), end = cx + 7 * name.length;
        const isFree = (at) => taken.every(([ from, to, y ]) => from >= end || to <= cx ||
                                                                Math.abs(y - at) >= 11);
        let at, tried = 0;
        do {
                at = cy + 4 + (tried % 2 ? 11 : -11) * Math.ceil(tried / 2);
                tried++;
        } while (at > box.bottom + 4 || !isFree(at));
        taken.push([ cx, end, at ]);
        const title = `${name}: ${number(x)}, ${number(y)}`;
        return [ mark("circle", colour, { cx, cy, r : 4 }, title), label(cx + 7, at, name) ];
});

const drawCurves = (plot, width) => {
        const points = plot.series.flatMap((s) => s.points), taken = [];
        const room = plot.series.some((s) => s.draw === drawPoints) ? 150 : 28; // for labels
        const left = 64, right = width - room, top = 12, bottom = height - 48;
        const x = findScale(plot.x,
                            points.flatMap(([ x, , to ]) => [x, typeof to === "number" ? to : x]));
        const y = findScale(plot.y, points.map(([, y ]) => y));
        const box = {
                left,
                right,
                top,
                bottom,
                x : (value) => Number((left + x.place(value) * (right - left)).toFixed(1)),
                y : (value) => Number((bottom - y.place(value) * (bottom - top)).toFixed(1))
        };
        const drawn = plot.series.flatMap((s, i) => s.draw(s.points, box, i, taken));
        return [
                drawLegend(plot.series.map((s) => s.name)),
                drawing(width, height, [...drawAxes(plot, x, y, box), ...drawn ])
        ];
};

const tableOfCurves = ({ x, y, series }) => {
        const nameOf = (...names) => names.filter((name) => typeof name === "string").join(", ");
        const rows = series.flatMap(
                (s) => s.points.map(([ x, y, label ]) => [nameOf(label, s.name), x, y]));
        return tableOf([ rows.some(([ name ]) => name) ? "Series" : "", x.title, y.title ], rows);
};

// Horizontal bars with a name each, made of parts that lie end to end.
const drawRows = ({ parts, rows }, width) => {
        const sum = (values) => values.reduce((a, b) => a + b, 0), left = 200;
        const most = Math.max(...rows.map(([, values ]) => sum(values)), 1e-9);
        const scale = (width - 70 - left) / most;
        const bars = rows.flatMap(([ name, values, total ], r) => {
                const y = 22 * r + 4, at = (i) => left + scale * sum(values.slice(0, i));
                const rects = values.map((value, i) => {
                        const place = { x : at(i), y, width : scale * value, height : 16 };
                        return mark("rect", i, place, `${parts[i]}: ${number(value)}`);
                });
                return [
                        label(left - 8, y + 13, clean(name).slice(0, 32), "end"), ...rects,
                        label(at(values.length) + 6, y + 13, total)
                ];
        });
        return [
                drawLegend(parts.length > 1 ? parts : []),
                drawing(width, 22 * rows.length + 8, bars)
        ];
};

const tableOfRows = ({ parts, rows }) => tableOf([ "", ...parts ],
                                                 rows.map(([ name, values ]) => [name, ...values]));

// --- values over time -------------------------------------------------------------------
// Stacks are spread over all shades: the first is not asleep, the second polls if there
// are enough of them.
const colourOf = (plot, i) => {
        const n = plot.series.length, first = n > 3 ? 1 : 3;
        if (!plot.stacked)
                return `--c${i % 8}`;
        if (i === 0 || n > 10)
                return `--k${i && 1 + (i - 1) % 9}`;
        return `--k${n > 2 ? Math.floor(first + (i - 1) * (8 - first) / (n - 2)) : 4}`;
};

// A row per time: [time, series...], each as [low, value, high]. Stacks are bands, too,
// each from where the one below ends.
const rowsOf = (plot) => plot.x.map((x, i) => {
        let sum = 0;
        return [
                new Date(x * 1000), ...plot.series.map((s) => {
                        const mid = s.mid[i], low = sum;
                        if (mid === null)
                                return [ NaN, NaN, NaN ];
                        if (!plot.stacked)
                                return [ s.low?.[i] ?? mid, mid, s.high?.[i] ?? mid ];
                        sum += mid;
                        return [ low, sum, sum ];
                })
        ];
});

const tableOfTime = (plot) => {
        const step = Math.max(Math.ceil(plot.x.length / tableRows), 1), rows = [];
        for (let i = 0; i + 1 < plot.x.length; i += step)
                rows.push([ time(plot.x[i]), ...plot.series.map((s) => s.mid[i]) ]);
        const titles = [ `time (${page.report.zone})`, ...plot.series.map((s) => s.name) ];
        return { caption : plot.unit, ...tableOf(titles, rows) };
};

// The same axis for all recordings of a chart: from 0 or below to something above everything.
const shareRange = (plots) => {
        const values = plots.flatMap(
                ({ series, stacked, x }) =>
                        stacked ? x.map((_, i) => series.reduce((sum, s) => sum + s.mid[i], 0))
                                : series.flatMap(
                                          (s) => [...s.mid, ...s.low ?? [], ...s.high ?? []]));
        return findScale({}, [ 0, ...values ]).range;
};

// Shows a colour, a name and, at point `i`, a value for each series.
const showLegend = (legend, plot, i) => {
        const textOf = ({ name, mid, low, high }) => {
                if (i === null)
                        return name;
                const range = mid[i] !== null && low && low[i] !== high[i]
                                      ? ` (${number(low[i])} to ${number(high[i])})`
                                      : "";
                return `${name} ${number(mid[i])}${range}`;
        };
        legend.replaceChildren(...plot.series.map(
                (series, s) => sample(colourOf(plot, s), textOf(series), plot.stacked && "area")));
        if (i !== null) {
                legend.prepend(element("span", {}, time(plot.x[i])));
                legend.append(element("span", {}, plot.unit));
        }
};

// Above the grid: events are often where its lines are.
const drawEvents = (events, context, graph) => {
        const area = graph.getArea();
        context.save();
        context.strokeStyle = css("--mark");
        context.globalAlpha = events.length > 60 ? 0.4 : 1; // many must not hide the lines
        context.setLineDash([ 2, 2 ]);
        context.beginPath();
        for (const event of events) {
                const x = Math.round(graph.toDomXCoord(event.x * 1000)) + 0.5;
                if (x < area.x || x > area.x + area.w)
                        continue;
                context.moveTo(x, area.y);
                context.lineTo(x, area.y + area.h);
        }
        context.stroke();
        context.restore();
};

// Shows an event in words and in the table of events; null: none.
const showEvent = (reason, event) => {
        for (const row of document.querySelectorAll("tr.chosen"))
                row.classList.remove("chosen");
        reason.textContent = event ? `${time(event.x)}: ${clean(event.words)}` : "";
        if (event)
                document.getElementById(event.id)?.classList.add("chosen");
};

// The event at a place of the plot.
const eventAt = (events, graph, pixel) => {
        const distance = (event) => Math.abs(graph.toDomXCoord(event.x * 1000) - pixel);
        const hit = events.filter((event) => distance(event) <= near);
        return hit.sort((a, b) => distance(a) - distance(b))[0] ?? null;
};

const optionsOf = (plot, range) => ({
        series : Object.fromEntries(plot.series.map(
                (s, i) => [`${i}`, {
                        stepPlot : plot.stacked || s.steps,
                        strokePattern : plot.stacked ? null : dashes[Math.floor(i / 8) % 4],
                        strokeWidth : plot.stacked ? 0 : 1.5
                }])),
        colors : plot.series.map((_, i) => css(colourOf(plot, i))),
        axisLineColor : css("--axis"),
        gridLineColor : css("--grid"),
        axes : {
                y : {
                        axisLabelWidth : 44,
                        axisLabelFormatter : short,
                        valueRange : [ range[0], range[1] * 1.001 ]
                },
                x : { axisLabelWidth : 64 }
        },
});

// Arrows move along the values, with Shift along the events; + and - zoom, 0 ends that.
const addKeys = (box, plot, graph, legend, reason) => {
        let row = null, chosen = -1;
        const show = (at) => {
                row = Math.min(Math.max(at, 0), plot.x.length - 1);
                graph.setSelection(row);
                showLegend(legend, plot, row);
        };
        const choose = (step) => {
                chosen = Math.min(Math.max(chosen + step, 0), plot.events.length - 1);
                const event = plot.events[chosen];
                show(plot.x.findLastIndex((x) => x <= event.x));
                showEvent(reason, event);
        };
        const zoom = (factor) => {
                const [from, to] = graph.xAxisRange();
                const middle = row === null ? (from + to) / 2 : plot.x[row] * 1000;
                const half = (to - from) / 2 * factor, [ low, high ] = graph.xAxisExtremes();
                graph.updateOptions({
                        dateWindow : [ Math.max(middle - half, low), Math.min(middle + half, high) ]
                });
        };
        box.addEventListener("keydown", (key) => {
                const step = { ArrowLeft : -1, ArrowRight : 1 }[key.key];
                if (key.ctrlKey || key.altKey || key.metaKey)
                        return;
                if (step && key.shiftKey && plot.events.length)
                        choose(step);
                else if (step)
                        show((row ?? (step > 0 ? -1 : plot.x.length)) + step);
                else if (key.key === "+" || key.key === "-")
                        zoom(key.key === "+" ? 0.5 : 2);
                else if (key.key === "0")
                        graph.resetZoom();
                else
                        return;
                key.preventDefault();
        });
        box.addEventListener("blur", () => {
                graph.clearSelection();
                showLegend(legend, plot, null);
        });
};

// `together`: plots of the same recording, which show the same time.
const drawTime = (figure, plot, range, together) => {
        const legend = element("div", { class : "legend" });
        const reason = element("p", { class : "reason", "aria-live" : "polite" });
        const box = element("div", {
                class : "plot",
                role : "img",
                tabindex : 0,
                "aria-label" : figure.getAttribute("aria-label")
        });
        figure.append(legend, box, reason);
        showLegend(legend, plot, null);
        const graph = new Dygraph(box, rowsOf(plot), {
                labels : [ "time", ...plot.series.map((_, i) => `${i}`) ],
                customBars : true,
                fillAlpha : plot.stacked ? 1 : 0.22,
                labelsUTC : true,
                ylabel : clean(plot.unit),
                yLabelWidth : 16,
                gridLineWidth : 1,
                includeZero : true,
                highlightCircleSize : 3,
                animatedZooms : false,
                plugins : [ {
                        activate : () => ({
                                didDrawChart : (event) => drawEvents(
                                        plot.events, event.drawingContext, event.dygraph)
                        })
                } ],
                clickCallback : (event) => {
                        if (plot.events.length)
                                showEvent(reason, eventAt(plot.events, graph, event.offsetX));
                },
                highlightCallback : (event, x, points, row) => showLegend(legend, plot, row),
                unhighlightCallback : () => showLegend(legend, plot, null),
                drawCallback : (drawn, initial) => {
                        const dateWindow = drawn.xAxisRange();
                        for (const other of initial ? [] : together)
                                if (String(other.xAxisRange()) !== String(dateWindow))
                                        other.updateOptions({ dateWindow });
                },
                ...optionsOf(plot, range)
        });
        together.push(graph);
        addKeys(box, plot, graph, legend, reason);
        graphs.push((size) => {
                [box.style.width, box.style.height] = size;
                graph.resize();
                graph.updateOptions(optionsOf(plot, range));
        });
};

// --- parts of a page --------------------------------------------------------------------
const recordings = {}; // by number: the plots over time of each
const drawers = {
        rows : [ drawRows, tableOfRows ],
        curves : [ drawCurves, tableOfCurves ],
        time : [ null, tableOfTime ]
};

const addText = (parent, name, text,
                 tag = "p") => text && parent.append(element(tag, { class : name }, text));

const makeFigure = (parent, { id, title, name, caption, plot, text, note, table }, range,
                    named) => {
        const figure = element("figure",
                               { id, "aria-label" : named ? `${title}: ${name}` : title });
        parent.append(figure);
        addText(figure, null, named ? name : caption, "figcaption");
        addText(figure, "note", !plot && "Not recorded.");
        addText(figure, null, text);
        const [draw, tableOfPlot] = drawers[plot?.kind] ?? [];
        if (draw)
                figure.append(...draw(plot, named ? 600 : 900));
        else if (plot)
                drawTime(figure, plot, range, recordings[plot.recording] ??= []);
        addText(figure, "note", note);
        if (plot)
                figure.append(fold(() => table ?? tableOfPlot(plot)));
};

const makeFigures = (figures) => {
        const several = figures.length > 1 && figures[0].name !== undefined;
        const group = element("div", { class : several ? "side-by-side" : null });
        const plots = figures.map((f) => f.plot).filter((plot) => plot?.kind === "time");
        const range = plots[0]?.max ? [ 0, plots[0].max ] : shareRange(plots);
        document.body.append(group);
        for (const figure of figures)
                makeFigure(group, figure, range, several);
};

// An object with any of: a heading, about, text, note, table, figures next to each other, and
// after.
const makePart = ({ heading, about, text, note, table, figures, after }) => {
        const { body } = document;
        addText(body, null, heading, "h2");
        addText(body, "about", about);
        addText(body, null, text);
        addText(body, "note", note);
        if (table)
                body.append(makeTable(table));
        if (figures)
                makeFigures(figures);
        addText(body, "note", after);
};

// --- idlelab latency --------------------------------------------------------------------
const latencyParts = ({ policy, cpus, settings }) => {
        const runs = (usec) => settings.flatMap(
                ({ setting, runs }) => runs.filter((run) => run.interval_usec === usec)
                                               .map((run) => ({...run, setting })));
        const figure = (heading, x, y, series) => ({
                heading,
                figures : [ { title : heading, plot : { kind : "curves", x, y, series } } ]
        });

        const nameOf = ({ setting, all }) => {
                const share = all.overruns / Math.max(all.overruns + all.samples, 1);
                return share < 0.01 ? setting
                                    : `${setting} (${(share * 100).toFixed(0)} % left out)`;
        };
        // The middle of a bucket, so that the first is on a logarithmic axis.
        const histogram = (usec) => figure(
                `Samples by latency, waking every ${micros(usec)}`,
                { title : "latency (us)", log : true },
                { title : "samples", log : true, from : ofOne },
                runs(usec)
                        .filter((run) => run.histogram.length)
                        .map((run) => ({
                                     draw : drawSteps,
                                     name : nameOf(run),
                                     points : run.histogram.map(
                                             ([ from, count ]) => [from + 0.05, count])
                             })));
        // A second point for each setting where wake-ups were due while a thread was late.
        const scatter = (usec) => {
                const known = runs(usec).filter((run) => run.power.watts !== null);
                const late = known.some((run) => run.all_due.samples > run.all.samples);
                const points = (which, name) => ({
                        draw : drawPoints,
                        name : late ? name : undefined,
                        points : known.map(
                                (run) => [run.power.watts, run[which].p99_us, run.setting])
                });
                const series = [
                        points("all", "wake-ups measured"), points("all_due", "wake-ups due")
                ];
                return known.length && figure(`Latency against power, waking every ${micros(usec)}`,
                                              { title : `watts (${known.at(-1).power.source})` },
                                              { title : "99th percentile (us)", log : true },
                                              late ? series : series.slice(0, 1));
        };
        const intervals = settings[0].runs.map((run) => run.interval_usec);
        return [
                { text : `Policy ${policy}, CPUs ${cpus}.` }, ...intervals.map(histogram),
                ...intervals.map(scatter)
        ];
};

// --- idlelab replay ---------------------------------------------------------------------
const replayParts = ({ table, traces, means }) => {
        const keys = [
                "correct_percent", "too_deep_percent", "too_shallow_percent", "energy_ratio",
                "exit_latency_us"
        ];
        const titles =
                "Governor|Correct, %|Too deep, %|Too shallow, %|Energy ratio|Exit latency, us"
                        .split("|");
        const figure = (caption, plot) => ({ title : caption, caption, plot });
        const cell = (row, key) => row[key]?.toFixed(key === "energy_ratio" ? 3 : 1);

        const bars = (rows) => ({
                kind : "rows",
                parts : [ "correct", "too deep", "too shallow" ],
                rows : rows.map((row) => {
                        const values = keys.slice(0, 3).map((key) => row[key]);
                        return [ row.governor, values, `${cell(row, keys[0]) ?? "-"} %` ];
                })
        });
        const scatter = (rows) => ({
                kind : "curves",
                x : { title : "mean exit latency (us)" },
                y : { title : "energy / omniscient's" },
                series : [ {
                        draw : drawPoints,
                        points : rows.map(
                                (row) => [row.exit_latency_us, row.energy_ratio, row.governor])
                } ]
        });
        const section = (heading, rows) => {
                const known = rows.filter((row) => row.exit_latency_us !== null &&
                                                   row.energy_ratio !== null);
                const figures = [
                        figure("Correct, too deep and too shallow choices, %", bars(rows)),
                        figure("Energy against mean exit latency", scatter(known))
                ];
                return {
                        heading,
                        note : !known.length &&
                                       "The table does not know the states' powers: no energy.",
                        table : tableOf(titles,
                                        rows.map((row) => [row.governor,
                                                           ...keys.map((key) => cell(row, key))])),
                        figures : known.length ? figures : figures.slice(0, 1)
                };
        };
        return [
                { text : `Idle states: ${table.name}.` },
                traces.length > 1 && section("Mean of all traces", means),
                ...traces.map((trace) => section(trace.trace, trace.governors))
        ];
};

// --- idlelab report ---------------------------------------------------------------------
// In the order of the data: [title, unit, about, greatest value].
const charts = [
        [
                "Parked CPUs over load", "CPUs",
                "Vertical lines are events: changes of the set of parked CPUs, profiles, holds. Lines of " +
                        "CPUs change when the sample ends in which the event was."
        ],
        [
                "Where all CPUs spent their time", "% of CPU time",
                "From busy to the deepest idle state. The kernel counts a sleep when it ends, so the share " +
                        "of one that goes on is an estimate.",
                100
        ],
        [ "Where parked CPUs spent their time", "% of CPU time", null, 100 ],
        [
                "Power", "W",
                "Mean power of each energy domain. A name with ~ is an estimate from idle states and a " +
                        "power table."
        ],
        [
                "Power saved", "W",
                "What each policy saves, as its evaluator knew at that time, with the 95 % interval as a " +
                        "band; where a point unites samples, from the lowest end to the highest one. " +
                        "Below 0 it costs power."
        ],
        [ "Frequency of busy CPUs", "MHz" ],
        [ "Wake-ups", "1/s", "Sleeps that ended, of all CPUs together; polling is none." ],
        [ "Pressure", "% of time", "How long some task had to wait for a CPU." ]
];
// The same: [title, unit, about, key of the summary].
const histograms = [
        [
                "Wake-up latency", "wake-ups",
                "How late timers and woken tasks ran, on all CPUs together.", "latency"
        ],
        [ "Lengths of sleeps", "sleeps", "How long CPUs slept, all together.", "sleep_length" ]
];
const sourcesAbout =
        "What ended the most sleeps, by the sleep ledger. Lost residency is what these " +
        "sleeps lacked to the target residency of the deepest state.";

// "saved 1.2 kJ (95 % interval: 0.9 kJ to 1.5 kJ)", or "cost 177 J more" with the interval of that.
const savedText = ({ saved_joules : value, saved_joules_low : low, saved_joules_high : high }) => {
        const sign = value < 0 ? -1 : 1, ends = value < 0 ? [ high, low ] : [ low, high ];
        const range = ends.includes(null) ? ""
                                          : ` (95 % interval: ${joules(sign * ends[0])} to ${
                                                    joules(sign * ends[1])})`;
        return `${value < 0 ? "cost" : "saved"} ${joules(sign * value)}${value < 0 ? " more" : ""}${
                range}`;
};
const savings = (r, text) => r.savings.map((s) => `${s.policy}: ${text(s)}`).join("; ") || null;

// False where something is not known.
const sentences = (r) => {
        const cores = r.cores ? ` in ${plural(r.cores, "core")}` : "";
        const machine = r.cpus ? ` (${plural(r.cpus, "CPU")}${cores})` : "";
        const whole = r.parked_cores_mean === null
                              ? ""
                              : ` (${fixed(r.parked_cores_mean, 1)} whole cores)`;
        const verdicts = { saves : "it saves energy", costs : "it costs energy" };
        const verdict = (s) => verdicts[s.verdict] ?? "whether it saves energy is not known yet";
        return [
                `${r.hostname ?? "A machine"}${machine} was recorded for ${
                        span(r.recorded_seconds)}.`,
                r.parked_cpus_mean !== null &&
                        `On average ${fixed(r.parked_cpus_mean, 1)} CPUs were parked${whole}.`,
                r.busy_percent !== null &&
                        `${fixed(r.busy_percent, 1)} % of the CPU time was used.`,
                r.watts_mean !== null && `All packages drew ${fixed(r.watts_mean, 2)} W, ${
                                                 joules(r.joules)} in total.`,
                ...r.savings.map((s) => s.saved_joules !== null &&
                                        `Policy ${s.policy} ${savedText(s)}: ${verdict(s)}.`),
                r.wakeups_per_second !== null &&
                        `The CPUs together woke up ${
                                fixed(r.wakeups_per_second, 1)} times a second.`
        ];
};

const facts = {
        "Machine" : (r) => r.hostname,
        "Processor" : (r) => r.cpu_model,
        "Kernel" : (r) => r.kernel,
        "CPUs, cores, packages" :
                (r) => r.cpus && [ r.cpus, r.cores ?? "-", r.packages ?? "-" ].join(", "),
        "Recorded by" : (r) => r.program && `${r.program} ${r.version ?? ""}`,
        "Command" : (r) => r.command,
        "Began" : (r) => r.begin_usec && time(r.begin_usec / 1e6 + page.report.offset_seconds),
        "Ended" : (r) => r.end_usec && time(r.end_usec / 1e6 + page.report.offset_seconds),
        "Recorded for" : (r) => `${span(r.recorded_seconds)}, ${r.samples} samples`,
        "CPU time used" : (r) => fixed(r.busy_percent, 1, " %"),
        "Parked CPUs, mean" : (r) => fixed(r.parked_cpus_mean, 1),
        "Parked cores, mean" : (r) => fixed(r.parked_cores_mean, 1),
        "Changes of the parked set" : (r) => fixed(r.transitions, 0),
        "Power, mean" : (r) => fixed(r.watts_mean, 2, " W"),
        "Energy" : (r) => r.joules === null ? null : joules(r.joules),
        "Energy source" : (r) => r.energy_source,
        "Saved" : (r) => savings(r, (s) => s.saved_joules === null ? "not known" : savedText(s)),
        "Verdict" : (r) => savings(r, (s) => s.verdict ?? "unknown"),
        "Wake-ups" : (r) => fixed(r.wakeups_per_second, 1, " 1/s"),
        "Causes of wake-ups" : (r) => r.sleeps && `not recorded: ${r.sleeps}`,
        "Wake-up latency, median and 99 %" :
                (r) => r.latency && `${micros(r.latency.p50_us)}, ${micros(r.latency.p99_us)}`
};

const reportParts = ({ recordings, offset_seconds : offset }) => {
        const several = recordings.length > 1;
        const united = Math.max(...recordings.map((r) => r.samples_per_point));
        const named = (r, text) => several ? `${r.name}: ${text}` : text;

        // A section with a figure of each recording, unless none of them shows anything.
        const section = (id, [ heading, , about ], figureOf) => {
                const figures = recordings.map((r, i) => {
                        const name = several ? r.name : undefined;
                        return { id : `${id}-${i}`, title : heading, name, ...figureOf(r, i) };
                });
                return figures.some((figure) => figure.plot) && { heading, about, figures };
        };
        const words = (e) => `${e.kind}${e.cpus ? ` ${e.cpus}` : ""}${e.text ? `: ${e.text}` : ""}`;
        const events = recordings.map((r, i) => r.events.map((e, k) => ({
                                                                     ...e,
                                                                     x : e.x + offset,
                                                                     id : `event-${i}-${k}`,
                                                                     words : words(e)
                                                             })));
        const chart = (r, recording, k, [, unit, , max ]) => {
                const series = r.charts[k];
                return series && {
                        note : k === 0 && r.events_left &&
                                       `Only the last ${r.events.length} events are marked.`,
                        plot : {
                                kind : "time",
                                recording,
                                x : r.times.map((x) => x + offset),
                                unit,
                                max,
                                events : k === 0 ? events[recording] : [],
                                series,
                                stacked : series.some((s) => s.stacked)
                        }
                };
        };
        const histogram = (r, k, [, unit, , key ]) => r[key] && {
                text : `Half are at most ${micros(r[key].p50_us)}, 99 % at most ${
                               micros(r[key].p99_us)}, ` +
                               `all at most ${micros(r[key].max_us)}.`,
                plot : {
                        kind : "curves",
                        x : { title : "us", log : true },
                        y : { title : unit, log : true, from : ofOne },
                        series : [ {
                                draw : drawBars,
                                points : r.histograms[k].map(
                                        ([ from, to, count ]) => [from || to / 2, count, to])
                        } ]
                }
        };
        const sources = ({ wakeup_sources : all,
                           sources_left,
                           recorded_seconds }) => all.length && {
                note : sources_left && `${sources_left} more are left out.`,
                plot : {
                        kind : "rows",
                        parts : [ "sleeps ended" ],
                        rows : all.map((s) => [s.name, [ s.sleeps ], number(s.sleeps)])
                },
                table : tableOf([ "Source", "Sleeps", "A second", "Lost residency, s" ],
                                all.map((s) => [s.name, s.sleeps, s.sleeps / recorded_seconds,
                                                s.lacked_seconds]))
        };
        const eventTable = (r, i) => ({
                ...tableOf([ "Time", "Event", "CPUs", "Policy", "Reason" ],
                           events[i].map((e) => [time(e.x), e.kind, e.cpus, e.policy, e.text]),
                           false),
                caption : several && r.name,
                ids : events[i].map((e) => e.id)
        });
        const leftOut = (r) => r.events_left ? `${r.events_left} earlier ones are left out.`
                                             : !r.events.length && "None were recorded.";
        const names = recordings.map((r) => r.name);
        const summary = Object.entries(facts)
                                .map(([ title, of ]) => [title, ...recordings.map(of)])
                                .filter(([, ...cells ]) => cells.some((cell) => cell ?? false));
        return [
                ...recordings.map(
                        (r) => ({ text : named(r, sentences(r).filter(Boolean).join(" ")) })),
                ...recordings.flatMap((r) => r.notes.map((note) => ({ note : named(r, note) }))), {
                        table : {
                                class : "summary",
                                ...tableOf([ "Summary", ...names ], summary, false)
                        }
                },
                united > 1 && {
                        note : `Each point of a plot unites up to ${
                                       united} samples: lines are their ` +
                                       "means, and bands go from the smallest to the largest sample. Stacks are means."
                },
                ...charts.map((row, k) => section(`plot-${k}`, row, (r, i) => chart(r, i, k, row))),
                ...histograms.map(
                        (row, k) => section(`histogram-${k}`, row, (r) => histogram(r, k, row))),
                section("sources", [ "Wake-up sources", null, sourcesAbout ], sources),
                { heading : "Events and their reasons" },
                ...recordings.map((r, i) => ({ table : eventTable(r, i), after : leftOut(r) }))
        ];
};

const reportTitle = ({ recordings : [ r, ...more ] }) =>
        more.length ? `${more.length + 1} recordings of idled`
                    : `idled on ${r.hostname ?? "a machine"}: ${r.name}`;

// --- the page ---------------------------------------------------------------------------
const verbs = {
        latency : [ () => "Wake-up latency", latencyParts ],
        replay : [ () => "Idle governors on recorded idle periods", replayParts ],
        report : [ reportTitle, reportParts ]
};
const [[ verb, answer ]] = Object.entries(page), [ titleOf, partsOf ] = verbs[verb];
document.title = clean(titleOf(answer));
document.querySelector("h1").append(document.title);
partsOf(answer).filter(Boolean).forEach(makePart);
if (graphs.length)
        document.querySelector("h1").after(element(
                "p", { class : "hint" },
                "Drag across a plot to zoom, with Shift to move, double-click to see all again. " +
                        "Click near a vertical line for its reason. Keys: arrows move along the values, with " +
                        "Shift along the events; + and - zoom, 0 shows all."));
const restyle = (scheme, size) => {
        document.documentElement.style.colorScheme = scheme;
        for (const graph of graphs)
                graph(size);
};
const show = () => restyle("", [ "", "" ]);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
addEventListener("beforeprint", () => restyle("light", printed));
addEventListener("afterprint", show);
document.documentElement.dataset.drawn = "yes";
