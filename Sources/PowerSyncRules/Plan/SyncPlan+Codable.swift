import Foundation

/// A stored plan that this service cannot run.
package enum SyncPlanError: Error, Sendable, Equatable {
    /// The plan was written by a service with another plan version.
    case unsupportedVersion(Int)
    /// The text is not a plan.
    case corrupted(String)
}

extension SyncPlanError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unsupportedVersion(let version):
            """
            The stored sync plan has version \(version), this service runs version \(SyncPlan.version). \
            Use the service version that deployed the sync config, or deploy the config again.
            """
        case .corrupted(let problem):
            "The stored sync plan cannot be read: \(problem). Deploy the sync config again."
        }
    }
}

extension SyncPlan: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, evaluators, parameterIndexes, buckets, streams
    }

    /// Reads the stored form.
    ///
    /// - Throws: ``SyncPlanError`` for another version or positions out of range, `DecodingError` for another shape.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else { throw SyncPlanError.unsupportedVersion(version) }
        let evaluators = try container.decode([RowEvaluator].self, forKey: .evaluators)
        let parameterIndexes = try container.decode([ParameterIndex].self, forKey: .parameterIndexes)
        let buckets = try container.decode([BucketDefinition].self, forKey: .buckets)
        let streams = try container.decode([Stream].self, forKey: .streams)
        try PlanValidation(evaluators: evaluators, parameterIndexes: parameterIndexes, buckets: buckets)
            .validate(streams)
        self.init(evaluators: evaluators, parameterIndexes: parameterIndexes, buckets: buckets, streams: streams)
    }

    /// Writes the stored form.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(evaluators, forKey: .evaluators)
        try container.encode(parameterIndexes, forKey: .parameterIndexes)
        try container.encode(buckets, forKey: .buckets)
        try container.encode(streams, forKey: .streams)
    }

    /// The stored form as JSON text; the same plan always gives the same text.
    ///
    /// - Throws: `EncodingError`, which would be a mistake of this module.
    package func encodedJSON() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Reads a plan from its stored form.
    ///
    /// - Parameter text: The result of ``encodedJSON()``.
    /// - Throws: ``SyncPlanError``.
    package init(encodedJSON text: String) throws {
        do {
            self = try JSONDecoder().decode(SyncPlan.self, from: Data(text.utf8))
        } catch let error as SyncPlanError {
            throw error
        } catch {
            throw SyncPlanError.corrupted(String(describing: error))
        }
    }
}

/// Checks that every position in a stored plan refers to something, so that running it cannot trap.
private struct PlanValidation {
    let evaluators: [RowEvaluator]
    let parameterIndexes: [ParameterIndex]
    let buckets: [SyncPlan.BucketDefinition]

    func validate(_ streams: [SyncPlan.Stream]) throws(SyncPlanError) {
        for bucket in buckets {
            guard bucket.evaluators.allSatisfy(evaluators.indices.contains) else {
                throw .corrupted("bucket “\(bucket.name)” uses an evaluator that does not exist")
            }
        }
        for stream in streams {
            for querier in stream.queriers {
                try validate(querier, of: stream.name)
            }
        }
    }

    private func validate(_ querier: Querier, of stream: String) throws(SyncPlanError) {
        guard buckets.indices.contains(querier.bucket) else {
            throw .corrupted("stream “\(stream)” uses a bucket that does not exist")
        }
        for (stage, lookups) in querier.stages.enumerated() {
            for lookup in lookups {
                guard parameterIndexes.indices.contains(lookup.index),
                    parameterIndexes[lookup.index].keys.count == lookup.inputs.count
                else {
                    throw .corrupted("stream “\(stream)” has a lookup that does not fit its index")
                }
                for input in lookup.inputs {
                    try validate(input, in: querier.stages[..<stage], of: stream)
                }
            }
        }
        for value in querier.instantiation {
            try validate(value, in: querier.stages[...], of: stream)
        }
        for evaluator in buckets[querier.bucket].evaluators {
            guard evaluators[evaluator].partitionKeys.count == querier.instantiation.count else {
                throw .corrupted("stream “\(stream)” gives another number of values than its bucket has keys")
            }
        }
    }

    private func validate(
        _ value: ParameterValue,
        in stages: ArraySlice<[Lookup]>,
        of stream: String
    ) throws(SyncPlanError) {
        switch value {
        case .request:
            break
        case .lookup(let output):
            guard stages.indices.contains(output.stage), stages[output.stage].indices.contains(output.position),
                parameterIndexes[stages[output.stage][output.position].index].outputs.indices.contains(output.output)
            else {
                throw .corrupted("stream “\(stream)” uses a lookup that does not come before its use")
            }
        case .intersection(let parts):
            for part in parts { try validate(part, in: stages, of: stream) }
        }
    }
}
