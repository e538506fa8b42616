import Foundation

/// A stored plan that this service cannot run.
package enum SyncPlanError: Error, Sendable, Equatable {
    /// The plan was written by a newer service.
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
        case version, evaluators, parameterIndexes, buckets, streams, valueOptions
    }

    /// Reads the stored form.
    ///
    /// - Throws: ``SyncPlanError`` for another version or positions out of range, `DecodingError` for another shape.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else { throw SyncPlanError.unsupportedVersion(version) }
        let evaluators = try container.decode([DataQuery].self, forKey: .evaluators)
        let buckets = try container.decode([BucketDefinition].self, forKey: .buckets)
        self.init(
            evaluators: evaluators,
            parameterIndexes: try container.decode([ParameterIndex].self, forKey: .parameterIndexes),
            buckets: try Self.validated(buckets, evaluatorCount: evaluators.count),
            streams: try container.decode([Stream].self, forKey: .streams),
            valueOptions: try container.decode(SourceValueOptions.self, forKey: .valueOptions)
        )
        try PlanValidation(plan: self).validate()
    }

    /// Writes the stored form.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(evaluators, forKey: .evaluators)
        try container.encode(parameterIndexes, forKey: .parameterIndexes)
        try container.encode(buckets, forKey: .buckets)
        try container.encode(streams, forKey: .streams)
        try container.encode(valueOptions, forKey: .valueOptions)
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

    /// Bucket definitions whose evaluators exist: the initialiser relies on it.
    private static func validated(
        _ buckets: [BucketDefinition],
        evaluatorCount count: Int
    ) throws(SyncPlanError) -> [BucketDefinition] {
        for bucket in buckets {
            guard bucket.evaluators.allSatisfy({ (0..<count).contains($0.rawValue) }) else {
                throw SyncPlanError.corrupted("bucket “\(bucket.name)” uses an evaluator that does not exist")
            }
        }
        return buckets
    }
}
