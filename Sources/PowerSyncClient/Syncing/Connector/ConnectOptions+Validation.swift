extension ConnectOptions {
    /// Checks the options, before anything happens with them.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` with the option in its message.
    func validate() throws {
        try Argument.check(seconds: crudThrottle, "crudThrottle")
        try Argument.check(seconds: retryDelay, "retryDelay")
        try Argument.check(limit: answerLimit, "answerLimit")
        try Argument.check(limit: uploadLimit, "uploadLimit")
        if case .requests(let delay?) = checkpointMode, delay.isNaN {
            throw PowerSyncError.retryDelayIsNaN
        }
        try Argument.check(parameters: params, of: "the connection")
        let metadataSize = appMetadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard metadataSize <= Argument.longestParameters else {
            throw PowerSyncError.metadataIsTooLong(metadataSize)
        }
    }
}
