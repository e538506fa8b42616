import NIOConcurrencyHelpers
import PowerSyncCore

/// What exists once per database file in this process.
///
/// Each `PowerSyncDatabase` of a file is a handle of it, a ``LocalDatabase``. The handles share the connections that the SDK opens; a
/// handle over connections of the app has those, and shares the rest. The file ends with its last handle.
///
/// ```
///  PowerSyncDatabase ─► LocalDatabase ─┬─► FileConnections, opened by the SDK
///  PowerSyncDatabase ─► LocalDatabase ─┤
///                                      ├─► DatabaseFile: the schema, the status, the sync, …
///  over a pool       ─► LocalDatabase ─┴─► FileConnections, of the app
/// ```
package final class DatabaseFile: Sendable {
    /// The files of this process that have a handle, by their identity.
    private static let files = NIOLockedValueBox<[String: DatabaseFile]>([:])

    private struct State {
        /// The connections of each handle.
        var handles: [Int: FileConnections] = [:]
        var lastHandle = 0
        /// The schema that the tables of the file have; `nil` before it is opened.
        var schema: ClientSchema?
        /// The kinds of the columns of the schema.
        var kinds: ColumnKinds?
        /// The schema of the first handle.
        var firstSchema: ClientSchema?
        var parts: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// Equal for handles of one file; `nil` for a file that has one handle at most.
    private let identity: String?
    private let state = NIOLockedValueBox(State())
    /// The sync status, which all handles show.
    let status = FileStatus()
    /// Held while connections to the file are opened: the first ones prepare it.
    let openLock = AsyncLock()

    private init(identity: String?) {
        self.identity = identity
    }

    /// Makes a handle of a file.
    ///
    /// - Parameters:
    ///   - identity: Equal for handles of one file; `nil` for a database that cannot be shared.
    ///   - source: Where the connections of the handle come from.
    ///   - schema: The schema of the handle; `nil` when it has an error.
    ///   - makeConnections: Makes the connections, if the handle does not share those of another one.
    /// - Returns: The file, the connections that the handle uses, a number that tells the handle apart from others of the file, to be given
    ///   up with ``remove(_:_:)``, and whether the file had no handle before.
    static func join(
        identity: String?,
        source: ConnectionSource,
        schema: ClientSchema?,
        _ makeConnections: () -> FileConnections
    ) -> (file: DatabaseFile, connections: FileConnections, number: Int, isFirst: Bool) {
        guard let identity else { return DatabaseFile(identity: nil).add(source, schema, makeConnections) }
        return files.withLockedValue { files in
            var file = files[identity] ?? DatabaseFile(identity: identity)
            // Handles of a file that was deleted keep it; a new one is of the file that is there now.
            if file.hasLostItsFile { file = DatabaseFile(identity: identity) }
            files[identity] = file
            return file.add(source, schema, makeConnections)
        }
    }

    /// Runs a body while no handle of this process has a file; those that come meanwhile wait before they open it.
    ///
    /// - Returns: `false` when a handle has the file; nothing was done then.
    static func whileUnused(_ location: DatabaseLocation, _ body: () async throws -> Void) async throws -> Bool {
        guard let identity = location.identity else { return false }
        let file = files.withLockedValue { files -> DatabaseFile? in
            guard files[identity] == nil else { return nil }
            let file = DatabaseFile(identity: identity)
            files[identity] = file
            return file
        }
        guard let file else { return false }
        defer {
            files.withLockedValue { files in
                let isUnused = file.state.withLockedValue { $0.handles.isEmpty }
                if isUnused, files[identity] === file { files[identity] = nil }
            }
        }
        try await file.openLock.withLock(body)
        return true
    }

    private func add(
        _ source: ConnectionSource,
        _ schema: ClientSchema?,
        _ makeConnections: () -> FileConnections
    ) -> (file: DatabaseFile, connections: FileConnections, number: Int, isFirst: Bool) {
        state.withLockedValue { state in
            let isFirst = state.handles.isEmpty
            if isFirst { state.firstSchema = schema }
            let shared = source.isOfApp ? nil : state.handles.values.first { !$0.source.isOfApp }
            let connections = shared ?? makeConnections()
            state.lastHandle += 1
            state.handles[state.lastHandle] = connections
            return (self, connections, state.lastHandle, isFirst)
        }
    }

    /// Removes a handle.
    ///
    /// Idempotent.
    ///
    /// - Returns: Whether its connections have no handle any more. They never get one again.
    func remove(_ number: Int, _ connections: FileConnections) -> Bool {
        DatabaseFile.files.withLockedValue { files in
            let (isUnused, isEmpty) = state.withLockedValue { state in
                state.handles[number] = nil
                return (!state.handles.values.contains { $0 === connections }, state.handles.isEmpty)
            }
            if isEmpty, let identity, files[identity] === self { files[identity] = nil }
            return isUnused
        }
    }

    /// Whether the file has other handles now, also such that came after a handle had left.
    func hasHandles(besides number: Int) -> Bool {
        guard let identity, let file = DatabaseFile.files.withLockedValue({ $0[identity] }) else { return false }
        return file.state.withLockedValue { state in
            file === self ? state.handles.keys.contains { $0 != number } : !state.handles.isEmpty
        }
    }

    private var hasLostItsFile: Bool {
        state.withLockedValue { Array($0.handles.values) }.contains(where: \.hasLostItsFile)
    }

    /// The schema that the tables of the file have; `nil` before it is opened.
    var schema: ClientSchema? {
        get { state.withLockedValue { $0.schema } }
        set {
            let kinds = ColumnKinds(newValue)
            state.withLockedValue { ($0.schema, $0.kinds) = (newValue, kinds) }
        }
    }

    /// The kinds of the columns of the schema that the tables of the file have; `nil` before it is opened.
    var kinds: ColumnKinds? { state.withLockedValue { $0.kinds } }

    /// The schema that a handle finds, which is that of the first one while the file is not open.
    var expectedSchema: ClientSchema? {
        state.withLockedValue { $0.schema ?? $0.firstSchema }
    }

    /// The object of a type that the handles of the file share.
    ///
    /// What belongs to a file without being part of it, such as its sync, is kept here by type: its room is above this one.
    ///
    /// - Parameter make: Makes the object, if there is none. Of two that are made at the same time one is dropped.
    /// - Returns: The object, which lives as long as the file.
    package func shared<Part: AnyObject & Sendable>(_ make: () -> Part) -> Part {
        let id = ObjectIdentifier(Part.self)
        if let part = state.withLockedValue({ $0.parts[id] as? Part }) { return part }
        let new = make()
        return state.withLockedValue { state in
            if let part = state.parts[id] as? Part { return part }
            state.parts[id] = new
            return new
        }
    }
}
