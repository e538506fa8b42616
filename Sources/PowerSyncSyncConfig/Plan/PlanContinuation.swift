/// A sync config that takes the place of another one in the same storage, part by part (docs/service.md "What a deployment keeps").
///
/// A part is a bucket definition or a parameter index: what is stored for it depends on its queries alone, whichever stream uses it and
/// whatever leads to it. A part of the new plan whose queries are those of a part of the earlier plan takes over its name, and so its
/// buckets, operations and entries. Every other part gets a name that the storage never had.
package struct PlanContinuation: Sendable {
    /// What becomes of a stream of either plan.
    package struct StreamChange: Sendable, Hashable {
        /// The kinds of results.
        package enum Outcome: String, Sendable, Hashable {
            /// What is stored for the stream stays.
            case kept
            /// Tables are read for the stream.
            case read
            /// The stream is not in the new plan, under no name, and clients lose its rows.
            case removed
        }

        /// The name of the stream, or of the bucket definition of an earlier edition; of an event, `event_definitions.<name>`.
        package var stream: String
        /// What becomes of it.
        package var outcome: Outcome
        /// Why, as a part of a sentence, such as `unchanged`, `renamed from lists` or `the queries of its rows changed`.
        package var reason: String
        /// The tables that are read for it, each once; none unless the outcome is ``Outcome/read``.
        package var tables: [TablePattern]
    }

    /// The new plan, with the names of parts in the storage.
    package let plan: SyncPlan
    /// What becomes of the streams: those of the new plan in its order, then those that are not in it, then events.
    package let streams: [StreamChange]
    /// Whether the new plan has a part of the earlier one.
    package let keepsParts: Bool

    /// Compares two plans.
    ///
    /// - Parameters:
    ///   - new: The new plan as it was compiled.
    ///   - earlier: The plan in whose place it comes, with the names of its parts in the storage.
    ///   - number: The number of the new config in the storage, at least 2 and larger than all that were given before; it is a part
    ///     of the names of new parts.
    package init(of new: SyncPlan, after earlier: SyncPlan, number: Int64) {
        var parts = PartNames(of: earlier, number: number)
        let isComparable = new.valueOptions == earlier.valueOptions
        let buckets = new.buckets.map { definition in
            var named = definition
            let kept = isComparable ? parts.takeName(of: new.queries(of: definition), preferring: definition.name) : nil
            named.name = kept ?? parts.newName(for: definition.name)
            return (definition: named, isKept: kept != nil)
        }
        let indexes = new.parameterIndexes.enumerated().map { position, index in
            var named = index
            let kept = isComparable ? parts.takeScope(of: index) : nil
            named.scope = kept ?? parts.newScope()
            if named.scope?.rawValue == position { named.scope = nil }
            return (index: named, isKept: kept != nil)
        }
        plan = SyncPlan(
            evaluators: new.evaluators,
            parameterIndexes: indexes.map(\.index),
            buckets: buckets.map(\.definition),
            streams: new.streams,
            valueOptions: new.valueOptions,
            defaultSchema: new.defaultSchema
        )
        keepsParts = buckets.contains(where: \.isKept) || indexes.contains(where: \.isKept)
        let keptBuckets = buckets.indices.filter { buckets[$0].isKept }.map { BucketDefinition.ID(rawValue: $0) }
        let keptIndexes = indexes.indices.filter { indexes[$0].isKept }.map { ParameterIndex.ID(rawValue: $0) }
        let comparison = StreamComparison(
            earlier: earlier,
            new: plan,
            keptBuckets: Set(keptBuckets),
            keptIndexes: Set(keptIndexes)
        )
        streams = comparison.changes
    }

    /// Whether no table has to be read for the new plan.
    package var readsNothing: Bool { !streams.contains { $0.outcome == .read } }
}

/// The names of the parts of a plan that a later one can take over, each once.
private struct PartNames {
    private var names: [[DataQuery]: [String]] = [:]
    private var scopes: [ParameterIndex: ParameterIndex.ID] = [:]
    private var nextScope: Int
    /// Names that mean something, which an app may have chosen as a new one would be.
    private var used: Set<String>
    private let number: Int64

    init(of plan: SyncPlan, number: Int64) {
        self.number = number
        used = Set(plan.buckets.map(\.name))
        for definition in plan.buckets { names[plan.queries(of: definition), default: []].append(definition.name) }
        for (position, index) in plan.parameterIndexes.enumerated() {
            scopes[index.withoutScope] = plan.scope(of: ParameterIndex.ID(rawValue: position))
        }
        nextScope = Int(number) << 16
    }

    mutating func takeName(of queries: [DataQuery], preferring name: String) -> String? {
        guard var found = names[queries], !found.isEmpty else { return nil }
        let taken = found.remove(at: found.firstIndex(of: name) ?? 0)
        names[queries] = found
        return taken
    }

    /// A name that no part of the earlier plan has, and none before.
    mutating func newName(for name: String) -> String {
        var new = "\(name):\(number)"
        while !used.insert(new).inserted { new += ":\(number)" }
        return new
    }

    mutating func takeScope(of index: ParameterIndex) -> ParameterIndex.ID? {
        scopes.removeValue(forKey: index.withoutScope)
    }

    mutating func newScope() -> ParameterIndex.ID {
        defer { nextScope += 1 }
        return ParameterIndex.ID(rawValue: nextScope)
    }
}

/// What becomes of the streams of two plans, whose parts have been compared.
private struct StreamComparison {
    let earlier: SyncPlan
    let new: SyncPlan
    let keptBuckets: Set<BucketDefinition.ID>
    let keptIndexes: Set<ParameterIndex.ID>

    var changes: [PlanContinuation.StreamChange] {
        let names = Set(new.streams.map(\.name))
        let gone = earlier.streams.filter { !names.contains($0.name) }
        let changes = new.streams.map { change(of: $0, gone) }
        return changes.map(\.change)
            + gone.filter { stream in !changes.contains { $0.origin == stream.name } }.map { stream in
                PlanContinuation.StreamChange(
                    stream: stream.name,
                    outcome: .removed,
                    reason: "no longer in the config",
                    tables: []
                )
            }
            + ParameterIndex.Event.allCases.compactMap { change(of: $0) }
    }

    /// What becomes of an event; `nil` when it is in neither plan.
    private func change(of event: ParameterIndex.Event) -> PlanContinuation.StreamChange? {
        let name = SyncPlan.name(of: event)
        let tables = new.tables(of: event, without: keptIndexes)
        guard !new.indexes(of: event).isEmpty else {
            guard !earlier.indexes(of: event).isEmpty else { return nil }
            return .init(stream: name, outcome: .removed, reason: "no longer in the config", tables: [])
        }
        guard tables.isEmpty else {
            let reason =
                if earlier.indexes(of: event).isEmpty {
                    "new"
                } else if new.valueOptions != earlier.valueOptions {
                    "an option that changes values is another one"
                } else {
                    "its payloads changed"
                }
            return .init(stream: name, outcome: .read, reason: reason, tables: tables)
        }
        return .init(stream: name, outcome: .kept, reason: "unchanged", tables: [])
    }

    private func change(
        of stream: SyncPlan.Stream,
        _ gone: [SyncPlan.Stream]
    ) -> (change: PlanContinuation.StreamChange, origin: String?) {
        let before = earlier.streams.first { $0.name == stream.name }
        let buckets = Set(stream.queriers.map(\.bucket))
        let indexes = Set(stream.queriers.flatMap(\.indexes))
        let queries = buckets.subtracting(keptBuckets).flatMap { new.queries(of: new.buckets[$0]) }
        let read = queries.map(\.table) + indexes.subtracting(keptIndexes).map { new.parameterIndexes[$0].table }
        guard read.isEmpty else {
            let reason =
                switch (before, queries.isEmpty) {
                case (nil, _): "new"
                case (_, true): "its lookups changed"
                case _ where new.valueOptions != earlier.valueOptions: "an option that changes values is another one"
                default: "the queries of its rows changed"
                }
            let tables = Set(read).sorted { $0.description < $1.description }
            return (.init(stream: stream.name, outcome: .read, reason: reason, tables: tables), nil)
        }
        let reason: String
        var origin: String?
        if let before {
            let isSame = earlier.resolved(before) == new.resolved(stream)
            reason = isSame ? "unchanged" : "only what requests get of it changed"
        } else {
            let stored = new.storedNames(of: stream)
            origin = gone.first { earlier.storedNames(of: $0) == stored }?.name
            reason = origin.map { "renamed from \($0)" } ?? "its rows are those of other streams"
        }
        return (.init(stream: stream.name, outcome: .kept, reason: reason, tables: []), origin)
    }
}

extension Querier {
    /// The parameter indexes that are looked into.
    fileprivate var indexes: [ParameterIndex.ID] {
        stages.flatMap { $0 }.compactMap { if case .index(let id, _) = $0 { id } else { nil } }
    }
}

extension ParameterIndex {
    fileprivate var withoutScope: ParameterIndex {
        var index = self
        index.scope = nil
        return index
    }
}

extension SyncPlan {
    /// The queries of a bucket definition, in the order in which the last one counts.
    fileprivate func queries(of definition: BucketDefinition) -> [DataQuery] {
        definition.evaluators.map { evaluators[$0] }
    }

    /// The names in the storage of what a stream uses.
    fileprivate func storedNames(of stream: Stream) -> Set<String> {
        Set(stream.queriers.map { buckets[$0.bucket].name })
    }

    /// A stream with the scopes of indexes and the names of buckets instead of their positions.
    fileprivate func resolved(_ stream: Stream) -> ([String], Stream) {
        var resolved = stream
        for index in resolved.queriers.indices {
            resolved.queriers[index].bucket = 0
            resolved.queriers[index].stages = stream.queriers[index].stages.map { stage in
                stage.map { lookup in
                    guard case .index(let id, let inputs) = lookup else { return lookup }
                    return .index(scope(of: id), inputs: inputs)
                }
            }
        }
        return (stream.queriers.map { buckets[$0.bucket].name }, resolved)
    }
}

extension SyncPlan {
    /// What an event is called beside streams.
    fileprivate static func name(of event: ParameterIndex.Event) -> String { "event_definitions.\(event.rawValue)" }

    /// The payloads of an event.
    fileprivate func indexes(of event: ParameterIndex.Event) -> [ParameterIndex.ID] {
        parameterIndexes.indices.filter { parameterIndexes[$0].event == event }.map { ParameterIndex.ID(rawValue: $0) }
    }

    /// The tables of an event's payloads, each once, by name, but for those of some payloads.
    fileprivate func tables(
        of event: ParameterIndex.Event,
        without kept: Set<ParameterIndex.ID> = []
    ) -> [TablePattern] {
        Set(indexes(of: event).filter { !kept.contains($0) }.map { parameterIndexes[$0].table })
            .sorted { $0.description < $1.description }
    }
}

extension SyncPlan {
    /// The tables that are read for a stream or an event, each once, by name.
    package func tables(of stream: String) -> [TablePattern] {
        if let event = ParameterIndex.Event.allCases.first(where: { Self.name(of: $0) == stream }) {
            return tables(of: event)
        }
        let queriers = streams.filter { $0.name == stream }.flatMap(\.queriers)
        let ofRows = Set(queriers.map(\.bucket)).flatMap { queries(of: buckets[$0]) }
        let ofLookups = Set(queriers.flatMap(\.indexes)).map { parameterIndexes[$0] }
        return Set(ofRows.map(\.table) + ofLookups.map(\.table)).sorted { $0.description < $1.description }
    }

    /// The parts of another plan that this one lacks, for which tables have to be read: both plans are in one storage.
    ///
    /// - Parameter next: A plan of ``PlanContinuation`` after this one.
    /// - Returns: A plan without streams.
    package func parts(addedBy next: SyncPlan) -> SyncPlan {
        let names = Set(buckets.map(\.name))
        let scopes = Set(parameterIndexes.indices.map { scope(of: ParameterIndex.ID(rawValue: $0)) })
        let added = next.buckets.filter { !names.contains($0.name) }
        var evaluators: [DataQuery] = []
        var definitions: [BucketDefinition] = []
        for definition in added {
            let first = evaluators.count
            evaluators += next.queries(of: definition)
            definitions.append(
                BucketDefinition(
                    name: definition.name,
                    evaluators: (first..<evaluators.count).map { DataQuery.ID(rawValue: $0) }
                )
            )
        }
        var indexes: [ParameterIndex] = []
        for (position, index) in next.parameterIndexes.enumerated() {
            let scope = next.scope(of: ParameterIndex.ID(rawValue: position))
            if scopes.contains(scope) { continue }
            var added = index
            added.scope = scope
            indexes.append(added)
        }
        return SyncPlan(
            evaluators: evaluators,
            parameterIndexes: indexes,
            buckets: definitions,
            streams: [],
            valueOptions: next.valueOptions,
            defaultSchema: next.defaultSchema
        )
    }

    /// What rows are evaluated with while a storage is filled for another plan: the parts of both.
    ///
    /// - Parameter next: A plan of ``PlanContinuation`` after this one.
    /// - Returns: A plan with the streams of this one.
    package func writing(_ next: SyncPlan) -> SyncPlan {
        let added = parts(addedBy: next)
        let first = evaluators.count
        return SyncPlan(
            evaluators: evaluators + added.evaluators,
            parameterIndexes: parameterIndexes + added.parameterIndexes,
            buckets: buckets
                + added.buckets.map { definition in
                    BucketDefinition(
                        name: definition.name,
                        evaluators: definition.evaluators.map { DataQuery.ID(rawValue: $0.rawValue + first) }
                    )
                },
            streams: streams,
            valueOptions: valueOptions,
            defaultSchema: defaultSchema
        )
    }
}

extension PlanContinuation.StreamChange: CustomStringConvertible {
    package var description: String {
        let source = tables.isEmpty ? "" : " from \(tables.map(\.description).joined(separator: ", "))"
        return "\(stream): \(outcome.rawValue)\(source) (\(reason))"
    }
}
