// Generated from sync.yaml and schema.sql. Do not edit; to generate it again:
//
//   powersync generate kotlin Tests/Fixtures/Generate/sync.yaml --schema Tests/Fixtures/Generate/schema.sql --output Tests/Fixtures/Generate/Synced.kt --package com.example.todos

package com.example.todos

import com.powersync.PowerSyncDatabase
import com.powersync.db.SqlCursor
import com.powersync.db.getBoolean
import com.powersync.db.getDoubleOptional
import com.powersync.db.getLong
import com.powersync.db.getLongOptional
import com.powersync.db.getString
import com.powersync.db.getStringOptional
import com.powersync.db.schema.Column
import com.powersync.db.schema.Schema
import com.powersync.db.schema.Table
import com.powersync.sync.SyncStream
import com.powersync.utils.JsonParam

/** The tables of the client. */
val schema: Schema =
    Schema(
        Table(
            name = "lists",
            columns =
                listOf(
                    Column.text("owner_id"),
                    Column.text("name"),
                    Column.text("created_at"),
                    Column.integer("archived"),
                ),
        ),
        Table(
            name = "summaries",
            columns =
                listOf(
                    Column.text("title"),
                    Column.integer("size"),
                ),
        ),
        // Bytes are not synced: photo
        Table(
            name = "todos",
            columns =
                listOf(
                    Column.text("list_id"),
                    Column.text("title"),
                    Column.text("default"),
                    Column.integer("position"),
                    Column.real("estimate"),
                    Column.text("price"),
                    Column.integer("done"),
                ),
        ),
    )

/** A row of table `lists`. */
data class ListsRow(
    val id: String,
    val ownerID: String,
    val name: String,
    val createdAt: String?,
    val archived: Boolean,
) {
    companion object {
        /** Reads a row of a query that has all columns of the table. */
        fun from(cursor: SqlCursor): ListsRow =
            ListsRow(
                id = cursor.getString("id"),
                ownerID = cursor.getString("owner_id"),
                name = cursor.getString("name"),
                createdAt = cursor.getStringOptional("created_at"),
                archived = cursor.getBoolean("archived"),
            )
    }
}

/** A row of table `summaries`. */
data class SummariesRow(
    val id: String,
    val title: String,
    val size: Long?,
) {
    companion object {
        /** Reads a row of a query that has all columns of the table. */
        fun from(cursor: SqlCursor): SummariesRow =
            SummariesRow(
                id = cursor.getString("id"),
                title = cursor.getString("title"),
                size = cursor.getLongOptional("size"),
            )
    }
}

/** A row of table `todos`. */
data class TodosRow(
    val id: String,
    val listID: String,
    val title: String,
    val default: String?,
    val position: Long,
    val estimate: Double?,
    val price: String?,
    val done: Boolean,
) {
    companion object {
        /** Reads a row of a query that has all columns of the table. */
        fun from(cursor: SqlCursor): TodosRow =
            TodosRow(
                id = cursor.getString("id"),
                listID = cursor.getString("list_id"),
                title = cursor.getString("title"),
                default = cursor.getStringOptional("default"),
                position = cursor.getLong("position"),
                estimate = cursor.getDoubleOptional("estimate"),
                price = cursor.getStringOptional("price"),
                done = cursor.getBoolean("done"),
            )
    }
}

/** The streams that a database can subscribe to. */
object Streams {
    /** The stream `my-lists` of priority 1, which clients get without subscribing. */
    fun myLists(
        database: PowerSyncDatabase,
    ): SyncStream =
        database.syncStream("my-lists")

    /** The stream `todos` of priority 3. */
    fun todos(
        database: PowerSyncDatabase,
        listID: String,
    ): SyncStream =
        database.syncStream("todos", mapOf("list_id" to JsonParam.String(listID)))

    /** The stream `page` of priority 3. */
    fun page(
        database: PowerSyncDatabase,
        done: Boolean,
        ids: List<String>,
        `in`: Long,
    ): SyncStream =
        database.syncStream("page", mapOf("done" to JsonParam.Boolean(done), "ids" to JsonParam.Collection(ids.map { JsonParam.String(it) }), "in" to JsonParam.Number(`in`)))

    /** The stream `summaries` of priority 3. */
    fun summaries(
        database: PowerSyncDatabase,
    ): SyncStream =
        database.syncStream("summaries")

    /** The stream `found` of priority 3. */
    fun found(
        database: PowerSyncDatabase,
        name: JsonParam? = null,
        others: Map<String, JsonParam> = emptyMap(),
    ): SyncStream =
        database.syncStream(
            "found",
            buildMap {
                putAll(others)
                if (name != null) put("name", name)
            },
        )
}
