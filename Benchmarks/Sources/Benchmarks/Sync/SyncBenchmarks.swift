import Foundation

/// A first sync from socket to views: our service in one process, our SDK in another, loopback between them.
///
/// Both share the machine's cores, so `rows/s` is that of the slower end, or of both together on a small machine; the
/// processor time is the client's alone. Floors: the bytes received and thrown away; the rows inserted by prepared
/// statements.
enum SyncBenchmarks {
    /// Runs all cases.
    static func run(includesMillion: Bool) throws {
        for rows in includesMillion ? [100_000, 1_000_000] : [100_000] {
            try run(rows: rows)
        }
    }

    private static func run(rows: Int) throws {
        let folder = try TemporaryFolder()
        let floor: SyncedRowsFloor.Result = try ChildProcess.run(.insert, SyncedRowsFloor(rows: rows))
        var scenario = SyncScenario(rows: rows, allowsBSON: true, folder: folder.folderPath)
        let prefix = "sync.\(rows / 1_000)k_rows"
        try withService(scenario) { address in
            let sync = FirstSync(address: address, rows: rows)
            let bson = try download(address, "application/vnd.powersync.bson-stream")
            try report("\(prefix).bson", rows: rows, ChildProcess.run(.firstSync, sync), bson, floor)
            var webSocket = sync
            webSocket.usesWebSocket = true
            try report("\(prefix).websocket", rows: rows, ChildProcess.run(.firstSync, webSocket), bson, floor)
        }
        scenario.allowsBSON = false
        try withService(scenario) { address in
            let lines = try download(address, "application/x-ndjson")
            let sync = FirstSync(address: address, rows: rows)
            try report("\(prefix).ndjson", rows: rows, ChildProcess.run(.firstSync, sync), lines, floor)
        }
        scenario.allowsBSON = true
        try withService(scenario) { address in
            var sync = FirstSync(address: address, rows: rows)
            sync.reads = true
            try reportReads("\(prefix).with_reads", rows: rows, ChildProcess.run(.firstSync, sync))
        }
    }

    private static func withService(_ scenario: SyncScenario, _ body: (ServiceProcess.Address) throws -> Void) throws {
        let service = try ChildProcess(.service, scenario)
        let result = Result { try body(service.answer()) }
        try service.end()
        try result.get()
    }

    private static func download(_ address: ServiceProcess.Address, _ mediaType: String) throws -> DownloadFloor.Result
    {
        try ChildProcess.run(.download, DownloadFloor(address: address, mediaType: mediaType))
    }

    // MARK: Reports

    private static func report(
        _ name: String,
        rows: Int,
        _ result: FirstSync.Result,
        _ download: DownloadFloor.Result,
        _ insert: SyncedRowsFloor.Result
    ) {
        func rate(_ seconds: Double) -> Double { Double(rows) / seconds }
        Report.line(
            name,
            ours: rate(result.seconds),
            floors: [("download only", rate(download.seconds)), ("insert only", rate(insert.seconds))]
        )
        func cpu(_ seconds: Double) -> Measurement { Measurement(best: .seconds(seconds) / rows) }
        Report.time(
            "\(name).cpu_per_row",
            ours: cpu(result.cpuSeconds),
            floors: [("download only", cpu(download.cpuSeconds)), ("insert only", cpu(insert.cpuSeconds))]
        )
        Report.memory("\(name).peak_memory", ours: PeakMemory(bytes: result.peakMemory))
        Report.memory("\(name).peak_log", ours: PeakMemory(bytes: result.peakLog))
    }

    private static func reportReads(_ name: String, rows: Int, _ result: FirstSync.Result) {
        Report.line(name, ours: Double(rows + SyncScenario.visibleRows) / result.seconds, floors: [])
        if let seconds = result.secondsToFirstPriority {
            Report.time("\(name).to_first_priority", ours: Measurement(best: .seconds(seconds)), floors: [])
        }
        Report.memory("\(name).peak_log", ours: PeakMemory(bytes: result.peakLog))
        for (during, idle) in zip(result.readsDuringSync, result.readsWhenIdle) {
            func time(_ microseconds: Double) -> Measurement { Measurement(best: .microseconds(microseconds)) }
            Report.time(
                "\(name).\(during.name).p50",
                ours: time(during.median),
                floors: [("idle", time(idle.median))]
            )
            Report.time(
                "\(name).\(during.name).p99",
                ours: time(during.percentile99),
                floors: [("idle", time(idle.percentile99))]
            )
        }
    }
}
