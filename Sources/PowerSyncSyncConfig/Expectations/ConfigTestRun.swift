import PowerSyncProtocol

extension ConfigTest {
    /// Compiles the config, evaluates the rows, and checks every case.
    ///
    /// - Parameters:
    ///   - config: The text of the config.
    ///   - schema: What is known about the source, for warnings.
    ///   - reasons: Whether to say for every received row why it is there; differences always do.
    /// - Returns: What came out. No case hides another one.
    package func run(
        config: String,
        schema: SourceSchema? = nil,
        reasons: Bool = false
    ) async -> ConfigTestResult {
        let compiled = SyncConfig.parse(config, schema: schema)
        var result = ConfigTestResult(diagnostics: compiled.diagnostics, testFindings: findings)
        guard var plan = compiled.plan else { return result }
        let schemas = plan.tablePatterns.map(\.schema) + rows.map(\.schema)
        if schemas.contains(Self.otherDefaultSchema) { plan.defaultSchema = Self.otherDefaultSchema }
        result.isAccepted = true
        var rehearsal = Rehearsal(plan)
        for row in rows {
            guard let values = row.values else {
                result.rows.append([])
                continue
            }
            let table = SourceTableName(schema: row.schema ?? plan.defaultSchema, name: row.table)
            rehearsal.add(values, of: table)
            result.rows.append(rehearsal.rows.last?.bucketRows ?? [])
        }
        result.rowProblems = rehearsal.problems
        for test in cases {
            result.cases.append(await test.run(rehearsal, reasons: reasons))
        }
        return result
    }
}

extension ConfigTestCase {
    /// Makes the request and compares.
    fileprivate func run(_ rehearsal: Rehearsal, reasons: Bool) async -> ConfigTestResult.Case {
        var result = ConfigTestResult.Case(name: name, failures: problems)
        let request: SyncPlanRequest
        switch self.request {
        case .success(let value):
            request = value
        case .failure(let refusal):
            result.error = refusal.code
            if error == nil || error != refusal.code { result.failures += refusal.problems }
            return result
        }
        let streams = rehearsal.plan.streams.map(\.name)
        for subscription in request.streams.subscriptions where !streams.contains(subscription.stream) {
            let hint = NearName.hint(for: subscription.stream, among: streams).map { " \($0)" } ?? ""
            result.failures.append("There is no stream “\(subscription.stream)” to subscribe to.\(hint)")
        }
        let reply = await rehearsal.reply(to: request)
        result.reply = reply
        result.error = reply.error == nil ? nil : BucketLimitError.code
        if result.error != error {
            let expected = error.map { "not with \($0)" } ?? "and not with rows"
            let actual = reply.error.map { "with \($0)" } ?? "without an error"
            result.failures.append("The request ends \(actual), \(expected).")
        }
        let differences = Differences(of: reply.rows, to: self, rehearsal)
        if reasons || differences.needsReasons {
            result.reasons = await rehearsal.reasons(for: request)
        }
        if reply.error == nil, let buckets {
            let actual = reply.buckets.map(\.name.rawValue)
            let missing = buckets.filter { expected in !actual.contains { $0.hasSameBytes(as: expected) } }
            let others = actual.filter { name in !buckets.contains { $0.hasSameBytes(as: name) } }
            result.failures += missing.map { "Bucket \($0) is missing." }
            result.failures += others.map { "Bucket \($0) is not expected." }
        }
        if reply.error == nil { result.failures += differences.sentences(reasons: result.reasons) }
        return result
    }
}
