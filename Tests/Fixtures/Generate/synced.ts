// Generated from sync.yaml and schema.sql. Do not edit; to generate it again:
//
//   powersync generate typescript Tests/Fixtures/Generate/sync.yaml --schema Tests/Fixtures/Generate/schema.sql --output Tests/Fixtures/Generate/synced.ts

import { type AbstractPowerSyncDatabase, column, Schema, type SyncStream, Table } from '@powersync/common';

/** The tables of the client. */
export const schema = new Schema({
  lists: new Table({
    owner_id: column.text,
    name: column.text,
    created_at: column.text,
    archived: column.integer,
  }),
  summaries: new Table({
    title: column.text,
    size: column.integer,
  }),
  // Bytes are not synced: photo
  todos: new Table({
    list_id: column.text,
    title: column.text,
    default: column.text,
    position: column.integer,
    estimate: column.real,
    price: column.text,
    done: column.integer,
  }),
});

/** A row of table `lists`. */
export interface ListsRow {
  id: string;
  owner_id: string;
  name: string;
  created_at: string | null;
  archived: number;
}

/** A row of table `summaries`. */
export interface SummariesRow {
  id: string;
  title: string;
  size: number | null;
}

/** A row of table `todos`. */
export interface TodosRow {
  id: string;
  list_id: string;
  title: string;
  default: string | null;
  position: number;
  estimate: number | null;
  price: string | null;
  done: number;
}

/** The streams that a database can subscribe to. */
export const streams = {
  /** The stream `my-lists` of priority 1, which clients get without subscribing. */
  myLists: (database: AbstractPowerSyncDatabase): SyncStream =>
    database.syncStream('my-lists'),
  /** The stream `todos` of priority 3. */
  todos: (database: AbstractPowerSyncDatabase, parameters: { list_id: string }): SyncStream =>
    database.syncStream('todos', parameters),
  /** The stream `page` of priority 3. */
  page: (database: AbstractPowerSyncDatabase, parameters: { done: boolean; ids: string[]; in: number }): SyncStream =>
    database.syncStream('page', parameters),
  /** The stream `summaries` of priority 3. */
  summaries: (database: AbstractPowerSyncDatabase): SyncStream =>
    database.syncStream('summaries'),
  /** The stream `found` of priority 3. */
  found: (database: AbstractPowerSyncDatabase, parameters: { name?: unknown } & Record<string, unknown>): SyncStream =>
    database.syncStream('found', parameters),
};
