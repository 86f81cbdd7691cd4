// SPDX-License-Identifier: Apache-2.0
// A dashboard as a page: @grafana/ui draws the panels from the answers that collect.py brought. What @grafana/ui has no
// component for (heat map, status history, state timeline: they are plugins of Grafana itself) is drawn with its theme.
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
  ArrayDataFrame, applyFieldOverrides, createTheme, DataFrame, FieldType, getDisplayProcessor, getFieldColorModeForField, getFieldDisplayName,
  standardFieldConfigEditorRegistry, standardEditorsRegistry, ThemeContext, toDataFrame, dateTime, GrafanaTheme2, setTimeZoneResolver,
} from '@grafana/data';
import { BarGauge, BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, BigValueJustifyMode, PanelChrome, Table, TimeSeries, GlobalStyles, TooltipPlugin2 } from '@grafana/ui';

declare const DATA: any;
const parameters = new URLSearchParams(location.search);
const theme: GrafanaTheme2 = createTheme({ colors: { mode: (parameters.get('theme') ?? 'dark') as any } });
setTimeZoneResolver(() => 'utc');
const identity = (value: any) => value;
standardFieldConfigEditorRegistry.setInit(() =>
  ['unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'mappings', 'thresholds', 'color', 'links'].map((id) => ({
    id, path: id, name: id, description: id, editor: () => null as any, override: () => null as any, process: identity, settings: {}, shouldApply: () => true,
  })) as any);
standardEditorsRegistry.setInit(() => []);

const legend = (format: string, labels: Record<string, string>) =>
  format === '__auto'
    ? Object.entries(labels).filter(([k]) => k !== '__name__').map(([, v]) => v).join(' ')
    : format.replace(/\{\{(\w+)\}\}/g, (_, name) => labels[name] ?? '');

// As Grafana's transformation of that name does.
const renamed = (panel: any, name: string) => (panel.transformations ?? []).filter((t: any) => t.id === 'renameByRegex')
  .reduce((text: string, { options }: any) => text.replace(new RegExp(`^${options.regex}$`), options.renamePattern), name);

// What is set for names that match: colours and dashes of limits.
function override(panel: any, field: any) {
  for (const { matcher, properties } of panel.fieldConfig.overrides) {
    if (matcher.id !== 'byRegexp' || !new RegExp(matcher.options.slice(1, -1)).test(field.config.displayNameFromDS)) { continue; }
    for (const { id, value } of properties) { if (id.startsWith('custom.')) { field.config.custom[id.slice(7)] = value; } else { field.config[id] = value; } }
  }
}

function frames(panel: any): DataFrame[] {
  const result: DataFrame[] = [];
  for (const target of panel.targets) {
    for (const series of target.result) {
      const points: Array<[number, string]> = series.values ?? [series.value];
      const known = new Map(points.map(([time, value]) => [Math.round(time), value === 'NaN' ? null : Number(value)]));
      const times: number[] = [];
      const values: Array<number | null> = [];
      if (series.values) {
        for (let t = DATA.start; t <= DATA.end; t += DATA.step) { times.push(t * 1000); values.push(known.get(t) ?? null); }
      } else { times.push(points[0][0] * 1000); values.push(Number(points[0][1])); }
      const name = renamed(panel, legend(target.legendFormat, series.metric));
      result.push(toDataFrame({ refId: target.refId, name, fields: [
        { name: 'Time', type: FieldType.time, values: times, config: {} },
        { name: 'Value', type: FieldType.number, values, labels: series.metric, config: { displayNameFromDS: name } }] }));
    }
  }
  return applyFieldOverrides({ data: result, fieldConfig: panel.fieldConfig, replaceVariables: (v: string) => v, theme, timeZone: 'utc',
    fieldConfigRegistry: standardFieldConfigEditorRegistry as any }).map((frame) => {
      frame.fields.forEach((field) => {
        field.config.custom = field.type === FieldType.time ? {} : { ...(panel.fieldConfig.defaults.custom ?? {}) };
        field.config.links = [];
        override(panel, field);
        field.display ??= getDisplayProcessor({ field, theme, timeZone: 'utc' });
      });
      return frame;
    });
}

const last = (values: any) => { for (let i = values.length - 1; i >= 0; i--) { if (values[i] != null) { return values[i]; } } return null; };
// Ends between two ticks of the time axis: the label of a tick at the very edge would be cut off.
const range = () => ({ from: dateTime(DATA.start * 1000), to: dateTime((DATA.end - ((DATA.end - 14) % 30)) * 1000), raw: { from: 'now-5m', to: 'now' } });

function Stat({ panel, width, height }: any) {
  const shown = frames(panel);
  const text = panel.options.textMode === 'name' ? BigValueTextMode.Name : BigValueTextMode.Value;
  const ground = panel.options.colorMode === 'background';
  return <div style={{ display: 'flex', gap: ground ? 4 : 0 }}>{shown.map((frame, i) => {
    const field = frame.fields[1];
    const value: any = { ...field.display!(last(field.values)), title: getFieldDisplayName(field, frame, shown) };
    return <BigValue key={i} value={value} theme={theme} width={width / shown.length - (ground ? 4 : 0)} height={height} colorMode={ground ? BigValueColorMode.Background : BigValueColorMode.Value} textMode={text}
      text={panel.options.text} justifyMode={BigValueJustifyMode.Auto} graphMode={panel.options.graphMode === 'area' ? BigValueGraphMode.Area : BigValueGraphMode.None}
      sparkline={panel.options.graphMode === 'area' && field.values.length > 1 ? { x: frame.fields[0], y: field } : undefined} />;
  })}</div>;
}

function Series({ panel, width, height }: any) {
  const shown = frames(panel);
  return <TimeSeries frames={shown} structureRev={1} width={width} height={height} timeRange={range()} timeZone="utc" legend={panel.options.legend} />;
}

function Bars({ panel, width, height }: any) {
  const shown = frames(panel);
  const order = [...shown].sort((a, b) => last(b.fields[1].values) - last(a.fields[1].values));
  const each = height / Math.max(order.length, 1);
  return <div>{order.map((frame, i) => {
    const field = frame.fields[1];
    const value: any = { ...field.display!(last(field.values)), title: field.config.displayNameFromDS };
    return <div key={i} style={{ height: each }}><BarGauge value={value} field={{ ...field.config, max: field.config.max ?? Math.max(...order.map((f) => last(f.fields[1].values))), min: 0 } as any} display={field.display} theme={theme}
      orientation={'horizontal' as any} displayMode={'gradient' as any} width={width} height={each - 4} itemSpacing={4} text={{ titleSize: 12, valueSize: 13 }} valueDisplayMode={'color' as any} showUnfilled /></div>;
  })}</div>;
}

// Merge and organize, as Grafana's transformations of the same names do for instant queries in table format.
function Grid({ panel, width, height }: any) {
  const rows = new Map<string, any>();
  const named: string[] = [];
  panel.targets.forEach((target: any) => {
    const column = panel.targets.length > 1 ? `Value #${target.refId}` : 'Value';
    target.result.forEach((series: any) => {
      const labels = Object.fromEntries(Object.entries(series.metric).filter(([k]) => k !== '__name__' && k !== 'job'));
      const join = panel.targets.length > 1 ? ['instance', 'device', 'pid', 'comm', 'workload'].map((k) => series.metric[k] ?? '').join('|') : JSON.stringify(labels);
      const row = rows.get(join) ?? {};
      Object.assign(row, labels, { [column]: Number(series.value[1]) });
      rows.set(join, row);
    });
    named.push(column);
  });
  const organize = panel.transformations.find((t: any) => t.id === 'organize').options;
  let list = [...rows.values()];
  const keys = [...new Set(list.flatMap((row) => Object.keys(row)))].filter((k) => !organize.excludeByName[k])
    .sort((a, b) => (organize.indexByName[a] ?? 99) - (organize.indexByName[b] ?? 99));
  const sort = panel.options.sortBy?.[0]?.displayName;
  const sortKey = keys.find((k) => (organize.renameByName[k] ?? k) === sort);
  if (sortKey) { list = list.sort((a, b) => (b[sortKey] ?? 0) - (a[sortKey] ?? 0)); }
  const fields = keys.map((key) => {
    const number = list.some((row) => typeof row[key] === 'number');
    return { name: organize.renameByName[key] ?? key, type: number ? FieldType.number : FieldType.string, config: {}, values: list.map((row) => row[key] ?? (number ? null : '')) };
  });
  const [frame] = applyFieldOverrides({ data: [toDataFrame({ fields })], fieldConfig: { ...panel.fieldConfig, overrides: [] }, replaceVariables: (v: string) => v, theme, timeZone: 'utc', fieldConfigRegistry: standardFieldConfigEditorRegistry as any });
  frame.fields.forEach((field) => {
    const custom: any = { align: 'auto', cellOptions: { type: 'auto' }, inspect: false };
    for (const override of panel.fieldConfig.overrides) {
      if (override.matcher.options !== field.name) { continue; }
      for (const { id, value } of override.properties) {
        if (id.startsWith('custom.')) { custom[id.slice(7)] = value; } else if (id !== 'links') { (field.config as any)[id === 'displayName' ? 'displayName' : id] = value; }
      }
    }
    field.config.links = [];
    field.config.custom = custom;
    if (field.type === FieldType.number) { field.config.color = { mode: 'thresholds' as any }; }
    field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
    field.getLinks = () => [];
  });
  return <Table data={frame} width={width} height={height} showTypeIcons={false} cellHeight={'sm' as any} />;
}

const time = (t: number) => new Date(t * 1000).toISOString().slice(11, 16);
function axis(width: number, height: number, left: number) {
  const marks = [0.1, 0.3, 0.5, 0.7, 0.9];
  return marks.map((m) => <text key={m} x={left + m * (width - left)} y={height - 4} fontSize={11} textAnchor="middle" fill={theme.colors.text.secondary}>{time(DATA.start + m * (DATA.end - DATA.start))}</text>);
}

// status-history and state-timeline: a row for each series, a cell for each point.
function Rows({ panel, width, height }: any) {
  const shown = frames(panel).sort((a, b) => String(a.fields[1].config.displayNameFromDS).localeCompare(String(b.fields[1].config.displayNameFromDS)));
  const left = Math.min(width / 2, 12 + 7 * Math.max(...shown.map((f) => String(f.fields[1].config.displayNameFromDS).length)));
  const row = (height - 20) / shown.length;
  return <svg width={width} height={height} style={{ fontFamily: theme.typography.fontFamily }}>
    {shown.map((frame, r) => {
      const field = frame.fields[1];
      const mode = getFieldColorModeForField(field);
      const values = Array.from(field.values as any) as Array<number | null>;
      const cell = (width - left) / values.length;
      const fontSize = Math.min(12, row - 2);
      return <g key={r}>
        <text x={left - 6} y={(r + 0.5) * row + fontSize / 3} fontSize={fontSize} textAnchor="end" fill={theme.colors.text.primary}>{field.config.displayNameFromDS}</text>
        {values.map((value, i) => value == null ? null : <rect key={i} x={left + i * cell} y={r * row + 1} width={cell + 0.3} height={row - 2} fillOpacity={0.9}
          fill={panel.type === 'status-history' ? mode.getCalculator(field, theme)(value, Math.min(1, Math.max(0, value)), undefined as any) : theme.visualization.getColorByName(value ? 'red' : 'green')} />)}
      </g>;
    })}{axis(width, height, left)}</svg>;
}

function Density({ panel, width, height }: any) {
  const shown = frames(panel);
  const left = 44, buckets = 10, columns = 60;
  const count = Array.from({ length: columns }, () => new Array(buckets).fill(0));
  shown.forEach((frame) => (Array.from(frame.fields[1].values as any) as Array<number | null>).forEach((value, i, all) => {
    if (value != null) { count[Math.floor((i / all.length) * columns)][Math.min(buckets - 1, Math.floor(value * buckets))]++; }
  }));
  const most = Math.max(...count.flat());
  const w = (width - left) / columns, h = (height - 20) / buckets;
  return <svg width={width} height={height} style={{ fontFamily: theme.typography.fontFamily }}>
    {[0, 0.2, 0.4, 0.6, 0.8, 1].map((v) => <text key={v} x={left - 6} y={Math.max(10, (height - 20) * (1 - v) + 4)} fontSize={11} textAnchor="end" fill={theme.colors.text.secondary}>{Math.round(v * 100)}%</text>)}
    {count.map((column, i) => column.map((n, b) => n ? <rect key={`${i}.${b}`} x={left + i * w} y={(buckets - 1 - b) * h + 0.5} width={w - 1} height={h - 1} fill="#ff9830" fillOpacity={0.15 + 0.85 * Math.sqrt(n / most)} /> : null))}
    {axis(width, height, left)}</svg>;
}

const KINDS: Record<string, any> = { stat: Stat, timeseries: Series, table: Grid, bargauge: Bars, 'status-history': Rows, 'state-timeline': Rows, heatmap: Density };

function Dashboard({ dashboard, width }: any) {
  const line = 30, gap = 8, unit = (width - gap) / 24;
  // On a phone Grafana puts every panel below the one before it, as wide as the screen.
  let next = 0;
  const places = dashboard.panels.map((p: any) => {
    if (width >= 769) { return p.gridPos; }
    next += p.gridPos.h;
    return { x: 0, y: next - p.gridPos.h, w: 24, h: p.gridPos.h };
  });
  const bottom = Math.max(...places.map((p: any) => p.y + p.h));
  return <div id="dashboard" style={{ width, boxSizing: 'border-box', background: theme.colors.background.canvas, fontFamily: theme.typography.fontFamily, color: theme.colors.text.primary, padding: `${gap}px 0 ${gap}px ${gap}px` }}>
    <div style={{ fontSize: 20, padding: '4px 8px 10px' }}>{dashboard.title} <span style={{ fontSize: 13, color: theme.colors.text.secondary }}>instance: {dashboard.chosen}; simulated</span></div>
    <div style={{ position: 'relative', height: bottom * (line + gap) }}>
      {dashboard.panels.map((panel: any, index: number) => {
        const { x, y, w, h } = places[index];
        const box = { position: 'absolute' as const, left: x * unit, top: y * (line + gap), width: w * unit - gap, height: h * (line + gap) - gap };
        if (panel.type === 'row') { return <div key={panel.id} style={{ ...box, fontWeight: 500, paddingLeft: 6, lineHeight: '30px' }}>⌄ {panel.title}</div>; }
        const Kind = KINDS[panel.type];
        return <div key={panel.id} className="panel" data-title={panel.title} style={box}>
          <PanelChrome title={panel.title} width={box.width} height={box.height}>{(innerWidth: number, innerHeight: number) => panel.targets.every((t: any) => t.result.length === 0)
            ? <div style={{ height: innerHeight, display: 'flex', alignItems: 'center', justifyContent: 'center', textAlign: 'center', color: theme.colors.text.secondary }}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div> : <Kind panel={panel} width={innerWidth} height={innerHeight} />}</PanelChrome>
        </div>;
      })}
    </div>
  </div>;
}

createRoot(document.getElementById('root')!).render(
  <ThemeContext.Provider value={theme}><GlobalStyles hackNoBackdropBlur={false} isExtensionSidebarOpen={false} />
    <Dashboard dashboard={DATA.dashboards[parameters.get('dashboard')!]} width={Number(parameters.get('width') ?? 1600)} /></ThemeContext.Provider>);
