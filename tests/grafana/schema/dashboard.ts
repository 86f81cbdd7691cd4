// SPDX-License-Identifier: Apache-2.0
// A dashboard as Grafana 12 keeps it, with the options and the custom field settings of the panels that we use spelled out.
import type { Dashboard, FieldConfig, FieldConfigSource, Panel, RowPanel } from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type * as bargauge from '@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen';
import type * as heatmap from '@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/types.gen';
import type * as stat from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type * as statetimeline from '@grafana/schema/dist/types/raw/composable/statetimeline/panelcfg/x/types.gen';
import type * as statushistory from '@grafana/schema/dist/types/raw/composable/statushistory/panelcfg/x/types.gen';
import type * as table from '@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
import type * as timeseries from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';

type Typed<Kind, Options, Custom> = Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> & {
  type: Kind;
  options: Options;
  fieldConfig: Omit<FieldConfigSource, 'defaults'> & { defaults: Omit<FieldConfig, 'custom'> & { custom?: Custom } };
  targets: Array<{
    datasource: { type: 'prometheus'; uid: string };
    editorMode: 'code' | 'builder';
    expr: string;
    format?: 'time_series' | 'table' | 'heatmap';
    instant: boolean;
    legendFormat: string;
    range: boolean;
    refId: string;
  }>;
};

export type OurDashboard = Omit<Dashboard, 'panels'> & {
  panels: Array<
    | RowPanel
    | Typed<'bargauge', bargauge.Options, never>
    | Typed<'heatmap', Partial<heatmap.Options>, heatmap.FieldConfig>
    | Typed<'stat', stat.Options, never>
    | Typed<'state-timeline', Partial<statetimeline.Options>, statetimeline.FieldConfig>
    | Typed<'status-history', Partial<statushistory.Options>, statushistory.FieldConfig>
    | Typed<'table', Partial<table.Options>, table.FieldConfig>
    | Typed<'timeseries', Partial<timeseries.Options>, timeseries.FieldConfig>
  >;
};
