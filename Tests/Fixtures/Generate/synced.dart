// Generated from sync.yaml and schema.sql. Do not edit; to generate it again:
//
//   powersync generate dart Tests/Fixtures/Generate/sync.yaml --schema Tests/Fixtures/Generate/schema.sql --output Tests/Fixtures/Generate/synced.dart

import 'package:powersync/powersync.dart';
import 'package:powersync/sqlite3_common.dart' as sqlite;

/// The tables of the client.
const schema = Schema([
  Table('lists', [
    Column.text('owner_id'),
    Column.text('name'),
    Column.text('created_at'),
    Column.integer('archived'),
  ]),
  Table('summaries', [
    Column.text('title'),
    Column.integer('size'),
  ]),
  // Bytes are not synced: photo
  Table('todos', [
    Column.text('list_id'),
    Column.text('title'),
    Column.text('default'),
    Column.integer('position'),
    Column.real('estimate'),
    Column.text('price'),
    Column.integer('done'),
  ]),
]);

/// A row of table `lists`.
final class ListsRow {
  const ListsRow({
    required this.id,
    required this.ownerID,
    required this.name,
    this.createdAt,
    required this.archived,
  });

  /// Reads a row of a query that has all columns of the table.
  ListsRow.fromRow(sqlite.Row row)
    : id = row['id'] as String,
      ownerID = row['owner_id'] as String,
      name = row['name'] as String,
      createdAt = row['created_at'] as String?,
      archived = (row['archived'] as int) != 0;

  final String id;
  final String ownerID;
  final String name;
  final String? createdAt;
  final bool archived;
}

/// A row of table `summaries`.
final class SummariesRow {
  const SummariesRow({
    required this.id,
    required this.title,
    this.size,
  });

  /// Reads a row of a query that has all columns of the table.
  SummariesRow.fromRow(sqlite.Row row)
    : id = row['id'] as String,
      title = row['title'] as String,
      size = row['size'] as int?;

  final String id;
  final String title;
  final int? size;
}

/// A row of table `todos`.
final class TodosRow {
  const TodosRow({
    required this.id,
    required this.listID,
    required this.title,
    this.default_,
    required this.position,
    this.estimate,
    this.price,
    required this.done,
  });

  /// Reads a row of a query that has all columns of the table.
  TodosRow.fromRow(sqlite.Row row)
    : id = row['id'] as String,
      listID = row['list_id'] as String,
      title = row['title'] as String,
      default_ = row['default'] as String?,
      position = row['position'] as int,
      estimate = (row['estimate'] as num?)?.toDouble(),
      price = row['price'] as String?,
      done = (row['done'] as int) != 0;

  final String id;
  final String listID;
  final String title;
  final String? default_;
  final int position;
  final double? estimate;
  final String? price;
  final bool done;
}

/// The streams that a database can subscribe to.
abstract final class Streams {
  /// The stream `my-lists` of priority 1, which clients get without subscribing.
  static SyncStream myLists(PowerSyncDatabase database) =>
      database.syncStream('my-lists');

  /// The stream `todos` of priority 3.
  static SyncStream todos(PowerSyncDatabase database, {
    required String listID,
  }) =>
      database.syncStream('todos', {
        'list_id': listID,
      });

  /// The stream `page` of priority 3.
  static SyncStream page(PowerSyncDatabase database, {
    required bool done,
    required List<String> ids,
    required int in_,
  }) =>
      database.syncStream('page', {
        'done': done,
        'ids': ids,
        'in': in_,
      });

  /// The stream `summaries` of priority 3.
  static SyncStream summaries(PowerSyncDatabase database) =>
      database.syncStream('summaries');

  /// The stream `found` of priority 3.
  static SyncStream found(PowerSyncDatabase database, {
    Object? name,
    Map<String, Object?>? others,
  }) =>
      database.syncStream('found', {
        ...?others,
        if (name != null) 'name': name,
      });
}
