import GRDB
import PowerSyncCore

extension LocalDatabase {
    /// Adds a listener, which hears of every interesting commit from now on.
    func addListener(_ listener: ChangeListener, interests: [ChangeInterest]? = nil) {
        changes.add(listener, interests: interests)
        // What is not open has not prepared statements yet.
        guard let writer = try? openWriter() else { return }
        writer.asyncWriteWithoutTransaction { [changes] db in
            changes.confirmListeners(db)
        }
    }

    /// The names of the tables in SQLite, in lower case, whose changes are changes of a view.
    ///
    /// A name that the schema does not know may be that of a table of the app.
    func tableNames(of view: String) -> Set<String> {
        let view = view.lowercased()
        var names = Set([true, false].map { DataTable(name: view, isLocalOnly: $0).internalName })
        names.insert(view)
        for table in currentSchema?.tables ?? [] where table.viewName.lowercased() == view {
            names.insert(table.internalName.lowercased())
        }
        return names
    }
}
