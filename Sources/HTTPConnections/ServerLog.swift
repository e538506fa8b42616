package import Logging

extension Logger {
    /// The logger for a server of Hummingbird whose owner says that it listens, and that it ends.
    ///
    /// Such a server says both at `info`, with the address in the text of the message, before its owner knows that it listens. All else
    /// is passed on: what requests are logged with, too.
    package var ofServer: Logger {
        var logger = self
        logger.handler = ServerLog(output: handler)
        return logger
    }
}

/// Passes on what is logged, but for what HummingbirdCore says at `info`.
private struct ServerLog: LogHandler {
    var output: any LogHandler

    var metadata: Logger.Metadata {
        get { output.metadata }
        set { output.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { output.metadataProvider }
        set { output.metadataProvider = newValue }
    }

    var logLevel: Logger.Level {
        get { output.logLevel }
        set { output.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { output[metadataKey: key] }
        set { output[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.level != .info || event.source != "HummingbirdCore" else { return }
        output.log(event: event)
    }
}
