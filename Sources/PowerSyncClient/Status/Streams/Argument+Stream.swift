extension Argument {
    /// Checks what identifies a stream: what passes can be stored, requested and compared.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)``.
    static func check(_ stream: any SyncStreamDescription) throws {
        try check(name: stream.name, of: "a sync stream")
        if let parameters = stream.parameters { try check(parameters: parameters, of: "a sync stream") }
    }
}
