// Generated from sync.yaml and schema.sql. Do not edit; to generate it again:
//
//   powersync generate swift Tests/Fixtures/Generate/sync.yaml --schema Tests/Fixtures/Generate/schema.sql --output Tests/PowerSyncCLITests/Generate/Synced.swift --dates

// swift-format-ignore-file

import Foundation
import PowerSync

/// The tables, rows and streams of `sync.yaml`.
enum Synced {
    /// The tables of the client, for `PowerSyncDatabase(schema:)`.
    static let schema = Schema(tables: [
        Table(
            name: "lists",
            columns: [
                .text("owner_id"),
                .text("name"),
                .date("created_at"),
                .boolean("archived"),
            ]
        ),
        Table(
            name: "summaries",
            columns: [
                .text("title"),
                .integer("size"),
            ]
        ),
        // Bytes are not synced: photo
        Table(
            name: "todos",
            columns: [
                .text("list_id"),
                .text("title"),
                .text("default"),
                .integer("position"),
                .real("estimate"),
                .decimal("price"),
                .boolean("done"),
            ]
        ),
    ])

    /// A row of table `lists`.
    struct ListsRow: Codable, Equatable, Identifiable, Sendable {
        /// The name of the table.
        static let tableName = "lists"

        var id: String
        var ownerID: String
        var name: String
        var createdAt: Date?
        var archived: Bool

        enum CodingKeys: String, CodingKey {
            case id
            case ownerID = "owner_id"
            case name
            case createdAt = "created_at"
            case archived
        }
    }

    /// A row of table `summaries`.
    struct SummariesRow: Codable, Equatable, Identifiable, Sendable {
        /// The name of the table.
        static let tableName = "summaries"

        var id: String
        var title: String
        var size: Int?
    }

    /// A row of table `todos`.
    struct TodosRow: Codable, Equatable, Identifiable, Sendable {
        /// The name of the table.
        static let tableName = "todos"

        var id: String
        var listID: String
        var title: String
        var `default`: String?
        var position: Int
        var estimate: Double?
        var price: Decimal?
        var done: Bool

        enum CodingKeys: String, CodingKey {
            case id
            case listID = "list_id"
            case title
            case `default`
            case position
            case estimate
            case price
            case done
        }
    }

    /// The streams that a database can subscribe to.
    enum Streams {
        /// The stream `my-lists` of priority 1, which clients get without subscribing.
        static func myLists(_ database: any PowerSyncDatabaseProtocol) -> any SyncStream {
            database.syncStream(name: "my-lists", params: nil)
        }

        /// The stream `todos` of priority 3.
        static func todos(_ database: any PowerSyncDatabaseProtocol, listID: String) -> any SyncStream {
            database.syncStream(name: "todos", params: ["list_id": .string(listID)])
        }

        /// The stream `page` of priority 3.
        static func page(_ database: any PowerSyncDatabaseProtocol, done: Bool, ids: [String], `in`: Int) -> any SyncStream {
            database.syncStream(name: "page", params: ["done": .bool(done), "ids": .array(ids.map { .string($0) }), "in": .int(`in`)])
        }

        /// The stream `summaries` of priority 3.
        static func summaries(_ database: any PowerSyncDatabaseProtocol) -> any SyncStream {
            database.syncStream(name: "summaries", params: nil)
        }

        /// The stream `found` of priority 3.
        static func found(_ database: any PowerSyncDatabaseProtocol, name: JsonValue? = nil, others: JsonParam = [:]) -> any SyncStream {
            var params: JsonParam = [:]
            if let name { params["name"] = name }
            params.merge(others) { typed, _ in typed }
            return database.syncStream(name: "found", params: params)
        }
    }
}
