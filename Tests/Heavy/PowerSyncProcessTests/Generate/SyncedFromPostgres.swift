// Generated from sync.yaml and a PostgreSQL database. Do not edit; to generate it again:
//
//   powersync generate swift sync.yaml --source URI --output SyncedFromPostgres.swift --namespace SyncedFromPostgres --dates

// swift-format-ignore-file

import Foundation
import PowerSync

/// The tables, rows and streams of `sync.yaml`.
enum SyncedFromPostgres {
    /// The tables of the client, for `PowerSyncDatabase(schema:)`.
    static let schema = Schema(tables: [
        // Bytes are not synced: photo
        Table(
            name: "items",
            columns: [
                .text("list_id"),
                .text("title"),
                .integer("position"),
                .boolean("done"),
                .date("made_at"),
                .date("due"),
                .text("day"),
                .text("attributes"),
                .decimal("price"),
                .text("cost"),
                .text("tags"),
                .text("sizes"),
                .text("state"),
                .integer("rating"),
                .real("weight"),
                .text("span"),
                .text("place"),
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
        var done: Bool
        var madeAt: Date
        var due: Date?
        var day: String?
        var attributes: String?
        var price: Decimal?
        var cost: String?
        var tags: String
        var sizes: String?
        var state: String
        var rating: Int?
        var weight: Double?
        var span: String?
        var place: String?

        enum CodingKeys: String, CodingKey {
            case id
            case listID = "list_id"
            case title
            case position
            case done
            case madeAt = "made_at"
            case due
            case day
            case attributes
            case price
            case cost
            case tags
            case sizes
            case state
            case rating
            case weight
            case span
            case place
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

        /// The stream `items` of priority 3.
        static func items(_ database: any PowerSyncDatabaseProtocol, list: String, position: Int) -> any SyncStream {
            database.syncStream(name: "items", params: ["list": .string(list), "position": .int(position)])
        }
    }
}
