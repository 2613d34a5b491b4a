/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds a page of idlectl from its data, which lab/page/page.h describes: texts, tables and plots.
 * dygraphs draws values over time; curves, histograms, points and bars are drawn here as SVG.
 *
 * Names come from other machines: they are set as text, never as markup.
 */
"use strict";
(() => {
        const page = JSON.parse(document.getElementById("data").textContent);
        const dashes = [ null, [ 7, 4 ], [ 2, 3 ], [ 9, 3, 2, 3 ] ];
        const near = 12;              // pixels from an event that still hit it
        const tableRows = 60;         // of the table of a plot over time
        const printed = [ 640, 272 ]; // size of a plot over time on paper
        const height = 280;           // of a drawing, in its own units
        const graphs = [];            // functions that set colours and sizes again
        let palette = document.documentElement;

        // The legend is ours: that of dygraphs needs inline styles, which the page forbids.
        Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

        const css = (name) => getComputedStyle(palette).getPropertyValue(name).trim();

        // Characters that would change how the text around them reads are replaced.
        const clean = (text) =>
                String(text).replace(/[\t\n]/g, " ").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");

        const add = (made, attributes, children) => {
                for (const [name, value] of Object.entries(attributes))
                        if (value !== undefined && value !== null)
                                made.setAttribute(name, value);
                made.append(...children.map((c) => c instanceof Node ? c : clean(c)));
                return made;
        };
        const element = (name, attributes = {}, ...children) => add(document.createElement(name),
                                                                    attributes, children);
        const shape = (name, attributes = {}, ...children) => add(
                document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

        // Four digits at most; what is not known is a dash.
        const number = (value) => value === null || value === undefined || Number.isNaN(value)
                                          ? "-"
                                          : String(Number(value.toPrecision(
                                                    Math.abs(value) >= 1000 ? 6 : 4)));

        // "2.5M" instead of 2500000, for axes.
        const short = (value) => {
                let prefix = 0;
                if (Math.abs(value) >= 10000)
                        for (; prefix < 6 && Math.abs(value) >= 1000; prefix++)
                                value /= 1000;
                return Number(value.toPrecision(6)) + [ "", "k", "M", "G", "T", "P", "E" ][prefix];
        };

        const time = (seconds) =>
                new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);

        // --- tables -----------------------------------------------------------------------------
        const makeTable = (table) => {
                const cell = (text, i, head) => element(head || i === 0 ? "th" : "td", {
                        scope : head      ? "col"
                                : i === 0 ? "row"
                                          : null,
                        class : table.columns[i].number ? "number" : null
                },
                                                        typeof text === "number" ? number(text)
                                                                                 : text ?? "-");
                const rows = table.rows.map(
                        (row, r) => element("tr", { id : table.ids?.[r] },
                                            ...row.map((text, i) => cell(text, i, false))));
                const made = element(
                        "table", { class : table.class },
                        ...(table.caption ? [ element("caption", {}, table.caption) ] : []),
                        element("thead", {},
                                element("tr", {},
                                        ...table.columns.map((c, i) => cell(c.title, i, true)))),
                        element("tbody", {}, ...rows));
                return element("div", { class : "wide" }, made);
        };

        // A table that is built when it is opened: some have thousands of rows.
        const fold = (table) => {
                const made = element("details", {}, element("summary", {}, "Values as a table"));
                made.addEventListener("toggle", () => made.append(makeTable(table())),
                                      { once : true });
                return made;
        };

        // --- axes -------------------------------------------------------------------------------
        // A distance between ticks: 1, 2 or 5 times a power of ten, at least `least`.
        const tickDistance = (least) => {
                const power = 10 ** Math.floor(Math.log10(least));
                return [ 1, 2, 5, 10 ].find((f) => f * power >= least * (1 - 1e-9)) * power;
        };

        // The range of values, widened to ticks. On a logarithmic axis only values above 0 count.
        const findRange = (values, log, ticks) => {
                let min = Infinity, max = -Infinity;
                for (const value of values)
                        if (value !== null && Number.isFinite(value) && (!log || value > 0)) {
                                min = Math.min(min, value);
                                max = Math.max(max, value);
                        }
                if (min > max)
                        [min, max] = log ? [ 1, 10 ] : [ 0, 1 ];
                if (log) {
                        min = 10 ** Math.floor(Math.log10(min) + 1e-9);
                        max = 10 ** Math.ceil(Math.log10(max) - 1e-9);
                        return [ min, max > min ? max : min * 10 ];
                }
                if (max <= min)
                        max = min + Math.max(Math.abs(min), 1);
                const step = tickDistance((max - min) / ticks);
                return [
                        Math.floor(min / step + 1e-9) * step, Math.ceil(max / step - 1e-9) * step
                ];
        };

        // Where values stand between 0 and 1, and where ticks are.
        const findScale = (axis, values, ticks, from = null) => {
                const [low, max] = findRange(values, axis.log, ticks), at = [], min = from ?? low;
                if (axis.log) {
                        const decades = Math.floor(Math.log10(max / min) + 1e-9);
                        for (let e = 0; e <= decades; e += Math.max(Math.ceil(decades / ticks), 1))
                                at.push(10 ** (Math.ceil(Math.log10(min) - 1e-9) + e));
                } else {
                        const step = tickDistance((max - min) / ticks);
                        for (let k = Math.round(min / step); k * step <= max * (1 + 1e-9); k++)
                                at.push(k * step);
                }
                const place = (value) => axis.log ? Math.log(value / min) / Math.log(max / min)
                                                  : (value - min) / (max - min);
                return { place : (value) => Math.min(Math.max(place(value), 0), 1), at, min };
        };

        // --- drawings ---------------------------------------------------------------------------
        const drawLegend = (names, className) => element(
                "div", { class : "legend" },
                ...names.map((name, i) => element("span", {},
                                                  element("i", { class : `${className}${i % 8}` }),
                                                  name)));

        // A line of the grid with its value next to one end.
        const drawTick = (d, place, value) => shape("g", {}, shape("path", { class : "grid", d }),
                                                    shape("text", place, short(value)));

        const drawAxes = (axes, x, y, box) =>
                [...x.at.map((value) => drawTick(
                                     `M${box.x(value)} ${box.top}V${box.bottom}`,
                                     { x : box.x(value), y : box.bottom + 17, class : "middle" },
                                     value)),
                 ...y.at.map((value) => drawTick(
                                     `M${box.left} ${box.y(value)}H${box.right}`,
                                     { x : box.left - 6, y : box.y(value) + 4, class : "end" },
                                     value)),
                 shape("path", {
                         class : "axis",
                         d : `M${box.left} ${box.top}V${box.bottom}H${box.right}`
                 }),
                 shape("text", { x : (box.left + box.right) / 2, y : height - 6, class : "middle" },
                       axes.x.title),
                 shape("text", {
                         x : -(box.top + box.bottom) / 2,
                         y : 14,
                         class : "middle",
                         transform : "rotate(-90)"
                 },
                       axes.y.title)];

        const drawSteps = (series, box, colour) => {
                let path = "";
                series.y.forEach((y, i) => {
                        if (y > 0 || !box.log)
                                path += `${path ? "V" : `M${box.x(series.x[i])} `}${box.y(y)}H${
                                        box.x(series.x[i + 1] ?? series.x[i])}`;
                });
                return [ shape("path", { class : `line l${colour}`, d : path }) ];
        };

        const drawBars = (series, box, colour) => series.y.map((y, i) => {
                const from = box.x(series.x[i]), to = box.x(series.to[i]);
                return shape(
                        "rect", {
                                class : `f${colour}`,
                                x : from,
                                y : box.y(y),
                                width : Math.max(to - from - 0.5, 0.5),
                                height : Math.max(box.bottom - box.y(y), 0)
                        },
                        shape("title", {},
                              `${short(series.x[i])} to ${short(series.to[i])}: ${number(y)}`));
        });

        // Each label stands right of its point, below labels that would cover it.
        const drawPoints = (series, box, colour, taken) => series.y.flatMap((y, i) => {
                const at = [ box.x(series.x[i]), box.y(y) ];
                let label = at[1] + 4;
                while (taken.some(([ x, y ]) => Math.abs(x - at[0]) < 120 &&
                                                Math.abs(y - label) < 11))
                        label += 11;
                taken.push([ at[0], label ]);
                return [
                        shape("circle", { class : `f${colour}`, cx : at[0], cy : at[1], r : 4 },
                              shape("title", {},
                                    `${series.labels[i]}: ${number(series.x[i])}, ${number(y)}`)),
                        shape("text", { x : at[0] + 7, y : label }, series.labels[i])
                ];
        });

        const kinds = { steps : drawSteps, bars : drawBars, points : drawPoints };

        const drawCurves = (plot, width) => {
                const labels = plot.series.some((s) => s.labels), taken = [];
                const box = {
                        left : 64,
                        right : width - (labels ? 150 : 28),
                        top : 12,
                        bottom : height - 48
                };
                const x = findScale(plot.x, plot.series.flatMap((s) => [...s.x, ...s.to ?? []]), 7);
                const y = findScale(plot.y, plot.series.flatMap((s) => s.y), 7,
                                    plot.series.some((s) => s.to) ? 0.5
                                                                  : null); // bars of 1 can be seen
                box.x = (value) => (box.left + x.place(value) * (box.right - box.left)).toFixed(1) *
                                   1;
                box.y = (value) =>
                        (box.bottom - y.place(value) * (box.bottom - box.top)).toFixed(1) * 1;
                box.log = plot.y.log;
                const drawn = plot.series.flatMap((s, i) => kinds[s.kind](s, box, i % 8, taken));
                const names = plot.series.map((s) => s.name).filter((name) => name);
                return [
                        ...(names.length ? [ drawLegend(names, "f") ] : []),
                        shape("svg", { viewBox : `0 0 ${width} ${height}`, "aria-hidden" : "true" },
                              ...drawAxes(plot, x, y, box), ...drawn)
                ];
        };

        const tableOfCurves = (plot) => ({
                columns : [
                        { title : plot.series.some((s) => s.labels || s.name) ? "Series" : "" },
                        { title : plot.x.title, number : true },
                        { title : plot.y.title, number : true }
                ],
                rows : plot.series.flatMap(
                        (s) => s.y.map(
                                (y,
                                 i) => [[ s.labels?.[i], s.name ].filter((name) => name).join(", "),
                                        s.x[i], y]))
        });

        // Horizontal bars with a name each, made of parts that lie end to end.
        const drawRows = (plot, width) => {
                const most = Math.max(
                        ...plot.values.map((v) => v.reduce((a, b) => a + (b ?? 0), 0)), 1e-9);
                const left = 200, right = width - 70;
                const bars = plot.values.flatMap((parts, r) => {
                        let x = left;
                        const y = 22 * r + 4;
                        return [
                                shape("text", { x : left - 8, y : y + 13, class : "end" },
                                      clean(plot.names[r]).slice(0, 32)),
                                ...parts.map((value, i) => {
                                        const wide = (value ?? 0) / most * (right - left);
                                        x += wide;
                                        return shape("rect", {
                                                class : `f${i % 8}`,
                                                x : x - wide,
                                                y,
                                                width : wide,
                                                height : 16
                                        },
                                                     shape("title", {},
                                                           `${plot.parts[i]}: ${number(value)}`));
                                }),
                                shape("text", { x : x + 6, y : y + 13 }, plot.totals[r])
                        ];
                });
                return [
                        ...(plot.parts.length > 1 ? [ drawLegend(plot.parts, "f") ] : []),
                        shape("svg", {
                                viewBox : `0 0 ${width} ${22 * plot.values.length + 8}`,
                                "aria-hidden" : "true"
                        },
                              ...bars)
                ];
        };

        const tableOfRows = (plot) => ({
                columns : [
                        { title : "" }, ...plot.parts.map((title) => ({ title, number : true }))
                ],
                rows : plot.values.map((values, r) => [plot.names[r], ...values])
        });

        // --- values over time -------------------------------------------------------------------
        // Stacks are spread over all shades: the first is not asleep, the second polls if there
        // are enough of them.
        const colourOf = (plot, i) => {
                const n = plot.series.length, first = n > 3 ? 1 : 3;
                if (!plot.stacked)
                        return css(`--c${i % 8}`);
                const shade = i === 0  ? 0
                              : n > 10 ? 1 + (i - 1) % 9
                              : n > 2  ? Math.floor(first + (i - 1) * (8 - first) / (n - 2))
                                       : 4;
                return css(`--k${shade}`);
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
                return {
                        caption : plot.unit,
                        columns : [
                                { title : page.zone },
                                ...plot.series.map((s) => ({ title : s.name, number : true }))
                        ],
                        rows
                };
        };

        // The same axis for all recordings of a chart: from 0 or below to something above
        // everything.
        const shareRange = (plots) => {
                const sums = (plot) => plot.x.map(
                        (_, i) => plot.series.reduce((sum, s) => sum + s.mid[i], 0));
                const values = plots.flatMap(
                        (plot) => plot.stacked
                                          ? sums(plot)
                                          : plot.series.flatMap((s) => [...s.mid, ...s.low ?? [],
                                                                        ...s.high ?? []]));
                return findRange([ 0, ...values ], false, 7);
        };

        // Shows a colour, a name and, at point `i`, a value for each series.
        const showLegend = (legend, plot, i) => {
                const at = i === null || i === undefined ? null : i;
                legend.replaceChildren(
                        ...(at === null ? [] : [ element("span", {}, time(plot.x[at])) ]),
                        ...plot.series.map((series, s) => {
                                const sample = element("i",
                                                       { class : plot.stacked ? "area" : null });
                                const mid = at === null ? null : series.mid[at];
                                let text = series.name;
                                sample.style.background = colourOf(plot, s);
                                if (at !== null)
                                        text += ` ${number(mid)}`;
                                if (mid !== null && series.low &&
                                    series.low[at] !== series.high[at])
                                        text += ` (${number(series.low[at])} to ${
                                                number(series.high[at])})`;
                                return element("span", {}, sample, text);
                        }),
                        ...(at === null ? [] : [ element("span", {}, plot.unit) ]));
        };

        const drawEvents = (events, context, graph) => {
                const area = graph.getArea();
                context.strokeStyle = css("--mark");
                context.lineWidth = 1;
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
                context.setLineDash([]);
                context.globalAlpha = 1;
        };

        // Shows an event in words and in the table of events; null: none.
        const showEvent = (reason, event) => {
                for (const row of document.querySelectorAll("tr.chosen"))
                        row.classList.remove("chosen");
                reason.textContent = event ? `${time(event.x)}: ${clean(event.text)}` : "";
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
                colors : plot.series.map((_, i) => colourOf(plot, i)),
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
                        const half = (to - from) / 2 * factor,
                              [ low, high ] = graph.xAxisExtremes();
                        graph.updateOptions({
                                dateWindow : [
                                        Math.max(middle - half, low), Math.min(middle + half, high)
                                ]
                        });
                };
                box.addEventListener("keydown", (key) => {
                        const step = { ArrowLeft : -1, ArrowRight : 1 }[key.key];
                        if (key.ctrlKey || key.altKey || key.metaKey)
                                return;
                        if (step && key.shiftKey && plot.events?.length)
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
                let busy = false;
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
                        plugins : plot.events ? [ {
                                activate : () => ({
                                        didDrawChart : (event) => drawEvents(
                                                plot.events, event.drawingContext, event.dygraph),
                                })
                        } ]
                                              : [],
                        clickCallback : (event) => {
                                const left = box.getBoundingClientRect().left;
                                if (plot.events)
                                        showEvent(reason, eventAt(plot.events, graph,
                                                                  event.clientX - left));
                        },
                        highlightCallback :
                                (event, x, points, row) => showLegend(legend, plot, row),
                        unhighlightCallback : () => showLegend(legend, plot, null),
                        drawCallback : (drawn, initial) => {
                                if (busy || initial)
                                        return;
                                busy = true;
                                for (const other of together)
                                        if (other !== drawn && String(other.xAxisRange()) !==
                                                                       String(drawn.xAxisRange()))
                                                other.updateOptions(
                                                        { dateWindow : drawn.xAxisRange() });
                                busy = false;
                        },
                        ...optionsOf(plot, range)
                });
                together.push(graph);
                addKeys(box, plot, graph, legend, reason);
                graphs.push((size) => {
                        [box.style.width, box.style.height] = size ? size.map((s) => `${s}px`)
                                                                   : [ "", "" ];
                        graph.resize();
                        graph.updateOptions(optionsOf(plot, range));
                        showLegend(legend, plot, null);
                });
        };

        // --- the page ---------------------------------------------------------------------------
        const recordings = {}; // by number: the plots over time of each

        const makeFigure = (parent, data, range, named) => {
                const figure = element("figure", {
                        id : data.id,
                        "aria-label" : named ? `${data.title}: ${data.name}` : data.title
                });
                const plot = data.plot;
                parent.append(figure);
                if (named || data.caption)
                        figure.append(element("figcaption", {}, named ? data.name : data.caption));
                if (!plot && !data.table)
                        figure.append(element("p", { class : "note" }, "Not recorded."));
                if (data.text)
                        figure.append(element("p", {}, data.text));
                if (plot?.kind === "time")
                        drawTime(figure, plot, range, recordings[plot.recording] ??= []);
                else if (plot)
                        figure.append(...(plot.kind === "rows" ? drawRows : drawCurves)(
                                plot, named ? 600 : 900));
                for (const note of data.notes ?? [])
                        figure.append(element("p", { class : "note" }, note));
                const makers = { time : tableOfTime, rows : tableOfRows, curves : tableOfCurves };
                if (plot || data.table)
                        figure.append(fold(() => data.table ?? makers[plot.kind](plot)));
        };

        const makeFigures = (figures) => {
                const several = figures.length > 1 && figures[0].name !== undefined;
                const group = element("div", { class : several ? "side-by-side" : null });
                const plots = figures.map((f) => f.plot).filter((plot) => plot?.kind === "time");
                for (const plot of plots)
                        plot.x = page.times[plot.recording];
                const range = plots[0]?.max ? [ 0, plots[0].max ] : shareRange(plots);
                document.body.append(group);
                for (const figure of figures)
                        makeFigure(group, figure, range, several);
        };

        for (const part of page.parts) {
                if (part.heading)
                        document.body.append(element("h2", {}, part.heading));
                for (const [kind, name] of [[ "about", "about" ], [ "text", null ],
                                            [ "note", "note" ]])
                        if (part[kind])
                                document.body.append(element("p", { class : name }, part[kind]));
                if (part.table)
                        document.body.append(makeTable(part.table));
                if (part.figures)
                        makeFigures(part.figures);
        }
        if (graphs.length)
                document.querySelector("h1").after(element(
                        "p", { class : "hint" },
                        "Drag across a plot to zoom, with Shift to move, double-click to see all again. " +
                                "Click near a vertical line for its reason. Keys: arrows move along the values, with " +
                                "Shift along the events; + and - zoom, 0 shows all."));
        const restyle = (where, size) => {
                palette = where;
                for (const graph of graphs)
                        graph(size);
        };
        matchMedia("(prefers-color-scheme: dark)")
                .addEventListener("change", () => restyle(document.documentElement, null));
        addEventListener("beforeprint", () => restyle(document.getElementById("paper"), printed));
        addEventListener("afterprint", () => restyle(document.documentElement, null));
        document.documentElement.dataset.drawn = "yes";
})();
