import GRDB
import PowerSyncBackend

/// Who may write what.
extension AppBackend {
    /// A user may write lists of their own, and todos in them.
    ///
    /// It runs inside the transaction of the upload, for each write, in order.
    @Sendable static func mayWrite(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
        switch write.entry.table {
        case "lists":
            // Whatever the client has written: the owner is who is signed in.
            var values = write.entry.data ?? [:]
            values["owner_id"] = .string(write.user.id)
            guard try write.belongsToUser(by: "owner_id", values: values, db) else {
                return .reject("The list belongs to another user.")
            }
            return .apply(values)
        case "todos":
            // The list that it is in, and the one that it goes to.
            var lists: [String?] = []
            if let todo = try write.storedRow(db) { lists.append(todo["list_id"]) }
            switch write.entry.data?["list_id"] {
            case nil where !lists.isEmpty || write.entry.op != .put: break
            case .string(let list): lists.append(list)
            default: return .reject("A todo is in a list.")
            }
            for list in lists {
                guard let list, try write.userOwns(list, in: "lists", by: "owner_id", db) else {
                    return .reject("There is no such list of yours.")
                }
            }
            return .apply
        default:
            return .reject("Clients do not write to \(write.entry.table).")
        }
    }
}
