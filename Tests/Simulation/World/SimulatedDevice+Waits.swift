import PowerSync

extension SimulatedDevice {
    /// How often the status is looked at, while it says why the device does not go on, or nothing is to be done.
    private static let pause = Duration.seconds(20)
    /// How often it is looked at while it does not.
    private static let shortPause = Duration.milliseconds(500)

    /// Looks at the status now and then.
    func watchWaits(_ database: any PowerSyncDatabaseProtocol) async {
        while (try? await Task.sleep(for: waits.isDoubtful ? Self.shortPause : Self.pause)) != nil {
            if let violation = await waits.judge(look(at: database)) {
                return world.fail("\(name) waits without a reason: \(violation)")
            }
        }
    }

    private func look(at database: any PowerSyncDatabaseProtocol) async -> WaitCheck.Look {
        let activity = database.currentStatus.activity
        var look = WaitCheck.Look(
            time: world.runtime.now,
            process: link.process.id,
            wantsConnection: wantsConnection,
            hasConnection: activity.mode != nil,
            isConnected: database.currentStatus.connected,
            explainsDownload: activity.download != nil && !world.isBroken(.waits),
            explainsUpload: activity.upload != nil && !world.isBroken(.waits),
            firstWrite: nil
        )
        if look.hasConnection, !look.explainsUpload {
            look.firstWrite = try? await database.getOptional(
                sql: "SELECT id FROM ps_crud ORDER BY id LIMIT 1",
                parameters: nil
            ) { try $0.getInt(index: 0) }
            // It may have begun to say so while the queue was read.
            look.explainsUpload = database.currentStatus.activity.upload != nil && !world.isBroken(.waits)
        }
        return look
    }
}
