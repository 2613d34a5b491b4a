/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the plots of idlectl report live: zoom, values where the pointer is, transitions with their
 * reasons. The page has the data, and dygraphs before this. What is drawn without scripts stays in
 * the page: it is printed, and it is shown if anything here fails.
 *
 * Names come from other machines: they are set as text, never as markup.
 */
"use strict";
(() => {
        const data = JSON.parse(document.getElementById("data").textContent);
        const dashes = [ null, [ 7, 4 ], [ 2, 3 ], [ 9, 3, 2, 3 ] ];
        const near = 12; // pixels from a transition that still hit it

        // The legend is ours: that of dygraphs needs inline styles, which the page forbids.
        Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

        const css = (name) =>
                getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        const colour = (series, stacked) => css(`--${stacked ? "k" : "c"}${series.colour}`);

        const element = (name, className, text) => {
                const made = document.createElement(name);
                if (className)
                        made.className = className;
                if (text !== undefined)
                        made.textContent = text;
                return made;
        };

        // Four digits at most; what is not known is a dash.
        const number = (value) => value === null || Number.isNaN(value)
                                          ? "-"
                                          : String(Number(value.toPrecision(
                                                    Math.abs(value) >= 1000 ? 6 : 4)));

        // "2.5M" instead of 2500000, as on axes that idlectl draws.
        const short = (value) => {
                let prefix = 0;
                if (Math.abs(value) >= 10000)
                        for (; prefix < 6 && Math.abs(value) >= 1000; prefix++)
                                value /= 1000;
                return Number(value.toPrecision(6)) + [ "", "k", "M", "G", "T", "P", "E" ][prefix];
        };

        const time = (seconds) =>
                new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);

        // A row per time: [time, series...], each as [low, value, high]. Stacks are bands, too,
        // each from where the one below ends.
        const rows = (recording, plot) => recording.x.map((x, i) => {
                let sum = 0;
                return [
                        new Date(x * 1000), ...plot.series.map((s) => {
                                const mid = s.mid[i], low = sum;
                                if (mid === null)
                                        return [ NaN, NaN, NaN ];
                                if (!plot.stacked)
                                        return [
                                                s.low ? s.low[i] : mid, mid,
                                                s.high ? s.high[i] : mid
                                        ];
                                sum += mid;
                                return [ low, sum, sum ];
                        })
                ];
        });

        // Shows a colour, a name and, at point `i`, a value for each series.
        const showLegend = (legend, recording, plot, i) => {
                legend.replaceChildren();
                if (i !== null)
                        legend.append(element("span", "", time(recording.x[i])));
                for (const series of plot.series) {
                        const item = element("span"),
                              sample = element("i", plot.stacked ? "area" : "");
                        let text = series.name;
                        sample.style.background = colour(series, plot.stacked);
                        if (i !== null) {
                                text += ` ${number(series.mid[i])}`;
                                if (series.low && series.mid[i] !== null &&
                                    series.low[i] !== series.high[i])
                                        text += ` (${number(series.low[i])} to ${
                                                number(series.high[i])})`;
                        }
                        item.append(sample, text);
                        legend.append(item);
                }
                if (i !== null)
                        legend.append(element("span", "", plot.unit));
        };

        const drawEvents = (recording, context, graph) => {
                const area = graph.getArea();
                context.strokeStyle = css("--mark");
                context.lineWidth = 1;
                context.globalAlpha = recording.events.length > 60
                                              ? 0.4
                                              : 1; // many must not hide the lines
                context.setLineDash([ 2, 2 ]);
                context.beginPath();
                for (const event of recording.events) {
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

        // The transition at a click, in words and in the table.
        const chooseEvent = (recording, reason, graph, pixel) => {
                let best = null, distance = near;
                for (const event of recording.events) {
                        const d = Math.abs(graph.toDomXCoord(event.x * 1000) - pixel);
                        if (d <= distance)
                                [best, distance] = [ event, d ];
                }
                for (const row of document.querySelectorAll("tr.chosen"))
                        row.classList.remove("chosen");
                reason.textContent = best ? `${time(best.x)}: ${best.text}` : "";
                if (best)
                        document.getElementById(best.id)?.classList.add("chosen");
        };

        const options = (recording, plot, reason, legend) => {
                const series = plot.series, perSeries = {};
                series.forEach((s, i) => {
                        perSeries[`${i}`] = {
                                stepPlot : plot.stacked || s.steps,
                                strokePattern : dashes[s.dash],
                                strokeWidth : plot.stacked ? 0 : 1.5
                        };
                });
                return {
                        labels : [ "time", ...series.map((_, i) => `${i}`) ],
                        series : perSeries,
                        colors : series.map((s) => colour(s, plot.stacked)),
                        customBars : true,
                        fillAlpha : plot.stacked ? 1 : 0.22,
                        labelsUTC : true,
                        ylabel : plot.unit,
                        yLabelWidth : 16,
                        axisLineColor : css("--axis"),
                        gridLineColor : css("--grid"),
                        gridLineWidth : 1,
                        axes : {
                                y : {
                                        axisLabelWidth : 44,
                                        axisLabelFormatter : short,
                                        valueRange : [ plot.range[0], plot.range[1] * 1.001 ]
                                },
                                x : { axisLabelWidth : 64 }
                        },
                        includeZero : true,
                        highlightCircleSize : 3,
                        animatedZooms : false,
                        plugins : plot.marks ? [ {
                                activate : () => ({
                                        didDrawChart : (event) => drawEvents(
                                                recording, event.drawingContext, event.dygraph),
                                })
                        } ]
                                             : [],
                        clickCallback : (event) => {
                                const box = event.target.closest(".plot").getBoundingClientRect();
                                if (plot.marks)
                                        chooseEvent(recording, reason, plot.graph,
                                                    event.clientX - box.left);
                        },
                        highlightCallback :
                                (event, x, points, row) => showLegend(legend, recording, plot, row),
                        unhighlightCallback : () => showLegend(legend, recording, plot, null),
                };
        };

        // All plots of a recording show the same time.
        const follow = (recording) => {
                let busy = false;
                return (graph, initial) => {
                        if (busy || initial)
                                return;
                        busy = true;
                        const dateWindow = graph.xAxisRange();
                        for (const plot of recording.plots)
                                if (plot.graph && plot.graph !== graph)
                                        plot.graph.updateOptions({ dateWindow });
                        busy = false;
                };
        };

        const enliven = (recording, plot, drawCallback) => {
                const figure = document.getElementById(plot.id), svg = figure.querySelector("svg");
                const legend = element("div", "legend"), box = element("div", "plot");
                const reason = element("p", "reason");
                reason.setAttribute("aria-live", "polite");
                box.setAttribute("role", "img");
                box.setAttribute("aria-label", figure.getAttribute("aria-label"));
                svg.before(legend, box, reason);
                figure.classList.add("live");
                try {
                        showLegend(legend, recording, plot, null);
                        plot.graph = new Dygraph(
                                box, rows(recording, plot),
                                {...options(recording, plot, reason, legend), drawCallback });
                } catch (error) {
                        figure.classList.remove("live");
                        for (const made of [legend, box, reason])
                                made.remove();
                        throw error;
                }
        };

        const recolour = () => {
                for (const recording of data.recordings)
                        for (const plot of recording.plots) {
                                const figure = document.getElementById(plot.id);
                                plot.graph.updateOptions(options(recording, plot,
                                                                 figure.querySelector(".reason"),
                                                                 figure.querySelector(".legend")));
                        }
        };

        for (const recording of data.recordings) {
                const drawCallback = follow(recording);
                for (const plot of recording.plots)
                        enliven(recording, plot, drawCallback);
        }
        for (const hint of document.querySelectorAll(".hint"))
                hint.hidden = false;
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
        document.documentElement.dataset.live = "yes";
})();
