// Generated from sync.yaml and a MySQL or MariaDB database. Do not edit; to generate it again:
//
//   powersync generate swift sync.yaml --source URI --output SyncedFromMySQL.swift --namespace SyncedFromMySQL --dates

// swift-format-ignore-file

import Foundation
import PowerSync

/// The tables, rows and streams of `sync.yaml`.
enum SyncedFromMySQL {
    /// The tables of the client, for `PowerSyncDatabase(schema:)`.
    static let schema = Schema(tables: [
        // Bytes are not synced: photo
        Table(
            name: "items",
            columns: [
                .text("list_id"),
                .text("title"),
                .integer("position"),
                .integer("done"),
                .date("made_at"),
                .date("due"),
                .text("day"),
                .decimal("price"),
                .real("weight"),
                .text("state"),
                .text("tags"),
                .integer("year"),
                .text("span"),
                .text("label"),
            ]
        ),
        Table(
            name: "lists",
            columns: [
                .text("owner"),
            ]
        ),
    ])

    /// A row of table `items`.
    struct ItemsRow: Codable, Equatable, Identifiable, Sendable {
        /// The name of the table.
        static let tableName = "items"

        var id: String
        var listID: String
        var title: String
        var position: Int
        var done: Int
        var madeAt: Date
        var due: Date?
        var day: String?
        var price: Decimal?
        var weight: Double?
        var state: String
        var tags: String?
        var year: Int?
        var span: String?
        var label: String?

        enum CodingKeys: String, CodingKey {
            case id
            case listID = "list_id"
            case title
            case position
            case done
            case madeAt = "made_at"
            case due
            case day
            case price
            case weight
            case state
            case tags
            case year
            case span
            case label
        }
    }

    /// A row of table `lists`.
    struct ListsRow: Codable, Equatable, Identifiable, Sendable {
        /// The name of the table.
        static let tableName = "lists"

        var id: String
        var owner: String
    }

    /// The streams that a database can subscribe to.
    enum Streams {
        /// The stream `lists` of priority 3, which clients get without subscribing.
        static func lists(_ database: any PowerSyncDatabaseProtocol) -> any SyncStream {
            database.syncStream(name: "lists", params: nil)
        }

        /// The stream `items` of priority 3, which clients get without subscribing.
        static func items(_ database: any PowerSyncDatabaseProtocol) -> any SyncStream {
            database.syncStream(name: "items", params: nil)
        }
    }
}
