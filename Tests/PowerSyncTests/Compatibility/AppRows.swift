import Foundation
import PowerSync

/// A row of the table `lists`.
struct ListContent: Identifiable, Hashable, Sendable {
    let id: String
    var name: String
    var createdAt: String
    var ownerId: String?
}

/// A row of the table `todos`.
struct Todo: Identifiable, Hashable, Sendable {
    let id: String
    var listId: String
    var photoId: String?
    var description: String
    var isComplete: Bool
    var estimate: Double?
    var createdAt: Date?
}

extension ListContent {
    static func fromCursor(_ cursor: any SqlCursor) throws -> ListContent {
        try ListContent(
            id: cursor.getString(name: "id"),
            name: cursor.getString(name: "name"),
            createdAt: cursor.getString(name: "created_at"),
            ownerId: cursor.getStringOptional(name: "owner_id")
        )
    }
}

extension Todo {
    static func fromCursor(_ cursor: any SqlCursor) throws -> Todo {
        try Todo(
            id: cursor.getString(name: "id"),
            listId: cursor.getString(name: "list_id"),
            photoId: cursor.getStringOptional(name: "photo_id"),
            description: cursor.getString(name: "description"),
            isComplete: cursor.getBooleanOptional(name: "completed") ?? false,
            estimate: cursor.getDoubleOptional(name: "estimate"),
            createdAt: cursor.getStringOptional(name: "created_at").flatMap(Date.fromDatabase)
        )
    }
}

/// A domain type that is bound as text.
enum Visibility: String, PowerSyncDataTypeConvertible, Sendable {
    case shared, mine

    var psDataType: PowerSyncDataType? { .string(rawValue) }
}
