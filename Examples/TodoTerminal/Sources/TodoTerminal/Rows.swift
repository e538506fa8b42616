import PowerSync

struct TodoList: Codable, Identifiable, Equatable {
    var id: String
    var name: String
}

struct Todo: Codable, Identifiable, Equatable {
    var id: String
    var listID: String
    var title: String
    var done: Bool

    enum CodingKeys: String, CodingKey {
        case id, title, done
        case listID = "list_id"
    }
}

/// A todo as the screen shows it: with what is known of its photo.
struct ShownTodo: Decodable, Identifiable, Equatable {
    var id: String
    var title: String
    var done: Bool
    var photo_id: String?
    var photo_size: Int?

    static let sql = """
        SELECT todos.id, title, coalesce(done, 0) AS done, photo_id,
               CASE WHEN has_synced THEN attachments.size END AS photo_size
        FROM todos LEFT JOIN attachments ON attachments.id = photo_id
        WHERE list_id = ? ORDER BY title, todos.id
        """
}

let schema = Schema(
    Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
    Table(
        name: "todos",
        columns: [.text("list_id"), .text("title"), .integer("done"), .text("photo_id")],
        indexes: [Index(name: "list", columns: [IndexedColumn.ascending("list_id")])]
    ),
    createAttachmentTable(name: "attachments")
)
