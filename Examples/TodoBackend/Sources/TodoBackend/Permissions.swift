import GRDB
import PowerSyncBackend

/// Who may write what: everybody their own lists, and the todos in them.
enum Permissions {
    static func decide(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
        switch write.entry.table {
        case "lists":
            if let list = try write.storedRow(db), !write.user.hasID(list["owner_id"]) {
                return .reject("The list belongs to somebody else.")
            }
            // Whatever the client has written: the owner is who is signed in.
            var values = write.entry.data ?? [:]
            values["owner_id"] = .string(write.user.id)
            return .apply(values)
        case "todos":
            // The list that it is in, and the one that it goes to.
            var lists: [String?] = []
            if let todo = try write.storedRow(db) { lists.append(todo["list_id"]) }
            switch write.entry.data?["list_id"] {
            case nil where !lists.isEmpty || write.entry.op != .put: break
            case .string(let list): lists.append(list)
            // Not a number either: the column would make a text of it, which may be the id of a list.
            default: return .reject("A todo is in a list.")
            }
            // A todo that is in no list is nobody's.
            for list in lists {
                let owner = try String.fetchOne(db, sql: "SELECT owner_id FROM lists WHERE id = ?", arguments: [list])
                guard write.user.hasID(owner) else { return .reject("There is no such list of yours.") }
            }
            return .apply
        default:
            return .reject("Clients do not write to \(write.entry.table).")
        }
    }
}
