import GRDB
import PowerSyncProtocol
import ServiceTestSupport

extension Database {
    /// What queries of `items` and `notes` give to the user `u0`, by the SQL of SQLite, as ``rowText(_:_:)``.
    func rowTexts(of queries: [String]) throws -> Set<String> {
        try queries.reduce(into: []) { found, query in
            for row in try Row.fetchAll(self, sql: query.replacing("auth.user_id()", with: "'u0'")) {
                let members = row.map { name, value in
                    let text = String.fromDatabaseValue(value)
                    return JSONObject.Member(name: name, value: text.map { .string($0) } ?? .null)
                }
                found.insert(rowText(query.contains("FROM items") ? "items" : "notes", JSONObject(members: members)))
            }
        }
    }
}
