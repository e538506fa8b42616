public import Foundation

extension PowerSyncDatabaseProtocol {
    /// Lets `powersync inspect --app` look into the app while it runs, at a Unix socket.
    ///
    /// ```swift
    /// #if DEBUG
    /// let listening = Task {
    ///     try await database.listenForInspection(at: URL(fileURLWithPath: "/tmp/todos.socket"))
    /// }
    /// #endif
    /// ```
    ///
    /// A process that can connect sees all rows and can subscribe to streams, and cannot write: call it in builds for developers, where one is
    /// looking for something. Nothing listens unless it is called. Only the user of the process can connect, as the mode of the file, 0600,
    /// says. Neither the key of the database nor tokens are told.
    ///
    /// It listens until the database is closed, or the task is cancelled, and removes the file then. The file that a killed process has left
    /// behind is replaced; any other file, and that of an app that listens, stays.
    ///
    /// - Parameters:
    ///   - socket: The file of the socket, in a folder that is there. Its path has 103 bytes at most.
    ///   - onListening: Called once, when connections can be made.
    /// - Throws: ``PowerSyncError`` when nothing can listen there, with the code ``PowerSyncErrorCode/fileInUse`` for a file that is there,
    ///   and ``PowerSyncErrorCode/invalidArgument`` for a path that is too long; when the database cannot be opened, is closed already, or is
    ///   not of this SDK. `CancellationError` when the task is cancelled.
    public func listenForInspection(at socket: URL, onListening: @Sendable () -> Void = {}) async throws {
        let database = try requireOwn(for: "listenForInspection")
        try await InspectionListener(database, limits: InspectionLimits()).run(
            at: socket.path,
            onListening: onListening
        )
    }
}
