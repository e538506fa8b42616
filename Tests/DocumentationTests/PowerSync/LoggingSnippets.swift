import Logging
import PowerSync
import PowerSyncLogging

func logSomeSeverities(_ schema: Schema) -> any PowerSyncDatabaseProtocol {
    let logger = DefaultLogger(minSeverity: .info)
    let database = PowerSyncDatabase(schema: schema, dbFilename: "app.db", logger: logger)
    return database
}

private func leaveBreadcrumb(_ text: String) {}

struct CrashReportWriter: LogWriterProtocol {
    func log(severity: LogSeverity, message: String, tag: String?) {
        if severity.rawValue >= LogSeverity.warning.rawValue { leaveBreadcrumb(message) }
    }
}

func logWithSwiftLog(_ schema: Schema) -> any PowerSyncDatabaseProtocol {
    let swiftLogger = Logging.Logger(label: "app.sync")
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "app.db",
        logger: DefaultLogger(writers: [SwiftLogWriter(swiftLogger)])
    )
    return database
}
