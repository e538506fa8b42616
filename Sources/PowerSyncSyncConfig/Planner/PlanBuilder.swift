/// Puts planned variants together into a plan in which nothing is there twice (docs/sync-config.md "The plan").
struct PlanBuilder {
    /// The largest number of queriers in one stream.
    static let maximumQueriers = 100

    private var evaluators = InterningTable<DataQuery>()
    private var parameterIndexes = InterningTable<ParameterIndex>()
    private var buckets: [BucketDefinition] = []
    /// The first bucket definition of each set of evaluators.
    private var bucketPositions: [[DataQuery.ID]: Int] = [:]
    private var streams: [SyncPlan.Stream] = []

    /// What variants of one stream have in common when they can share buckets.
    private struct Recipe: Hashable {
        var requestFilters: [PlanExpression]
        var stages: [[Lookup]]
        var instantiation: [ParameterValue]
        var priority: Int32?
        var keepsNull: Bool
    }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - isSubscribedByDefault: Whether clients get the stream without subscribing.
    ///   - priority: The priority of its buckets.
    ///   - variants: All variants of its queries, in order.
    /// - Returns: The number of queriers after merging, which must not exceed ``maximumQueriers``.
    mutating func addStream(
        name: String,
        isSubscribedByDefault: Bool,
        priority: Int32,
        variants: [PlannedVariant]
    ) -> Int {
        var recipes = InterningTable<Recipe>()
        var members: [(bucketName: String, evaluators: Set<DataQuery.ID>)] = []
        for (number, variant) in variants.enumerated() {
            let evaluator = DataQuery.ID(rawValue: evaluators.position(of: variant.evaluator))
            let recipe = recipes.position(of: recipe(for: variant.way))
            if recipe == members.count {
                members.append(("\(name)|\(number)", [evaluator]))
            } else {
                members[recipe].evaluators.insert(evaluator)
            }
        }
        let queriers = zip(recipes.elements, members).map { recipe, member in
            Querier(
                requestFilters: recipe.requestFilters,
                stages: recipe.stages,
                bucket: bucket(named: member.bucketName, evaluators: member.evaluators.sorted()),
                instantiation: recipe.instantiation,
                priority: nil,
                keepsNull: false
            )
        }
        streams.append(
            SyncPlan.Stream(
                name: name,
                isSubscribedByDefault: isSubscribedByDefault,
                priority: priority,
                queriers: queriers
            )
        )
        return queriers.count
    }

    /// Adds a legacy definition: one bucket definition under its own name, whatever way leads to it.
    mutating func addDefinition(_ definition: PlannedDefinition) {
        let ids = definition.evaluators.map { DataQuery.ID(rawValue: evaluators.position(of: $0)) }
        let bucket = addBucket(named: definition.name, evaluators: Set(ids).sorted())
        var queriers = InterningTable<Querier>()
        for way in definition.ways {
            let (stages, places) = stages(of: way.lookups)
            let querier = Querier(
                requestFilters: way.requestFilters.flatMap(\.expression.conjuncts).sortedByStructure,
                stages: stages,
                bucket: bucket,
                instantiation: way.instantiation.map { Self.value($0, places: places) },
                priority: way.priority,
                keepsNull: true
            )
            _ = queriers.position(of: querier)
        }
        streams.append(
            SyncPlan.Stream(
                name: definition.name,
                isSubscribedByDefault: true,
                priority: definition.priority,
                queriers: queriers.elements
            )
        )
    }

    /// Adds a payload of an event.
    mutating func addEvent(_ index: ParameterIndex) { _ = parameterIndexes.position(of: index) }

    /// The plan.
    func build(valueOptions: SourceValueOptions) -> SyncPlan {
        SyncPlan(
            evaluators: evaluators.elements,
            parameterIndexes: parameterIndexes.elements,
            buckets: buckets,
            streams: streams,
            valueOptions: valueOptions
        )
    }

    /// The bucket definition of a set of evaluators.
    ///
    /// Queriers that need the same set share it, whatever way they take.
    private mutating func bucket(named name: String, evaluators: [DataQuery.ID]) -> BucketDefinition.ID {
        if let existing = bucketPositions[evaluators] { return BucketDefinition.ID(rawValue: existing) }
        return addBucket(named: name, evaluators: evaluators)
    }

    private mutating func addBucket(named name: String, evaluators: [DataQuery.ID]) -> BucketDefinition.ID {
        if bucketPositions[evaluators] == nil { bucketPositions[evaluators] = buckets.count }
        buckets.append(BucketDefinition(name: name, evaluators: evaluators))
        return BucketDefinition.ID(rawValue: buckets.count - 1)
    }

    private mutating func recipe(for way: PlannedWay) -> Recipe {
        let (stages, places) = stages(of: way.lookups)
        return Recipe(
            requestFilters: way.requestFilters.flatMap(\.expression.conjuncts).sortedByStructure,
            stages: stages,
            instantiation: way.instantiation.map { Self.value($0, places: places) },
            priority: nil,
            keepsNull: false
        )
    }

    /// The lookups by stage, and where each of them ended up.
    ///
    /// Inputs come first, so that their places are known.
    private mutating func stages(
        of lookups: [PlannedWay.Lookup]
    ) -> (stages: [[Lookup]], places: [(stage: Int, position: Int)]) {
        var stages: [[Lookup]] = []
        var places: [(stage: Int, position: Int)] = []
        for lookup in lookups {
            while stages.count <= lookup.stage { stages.append([]) }
            places.append((lookup.stage, stages[lookup.stage].count))
            switch lookup.kind {
            case .index(let index, let inputs):
                let id = ParameterIndex.ID(rawValue: parameterIndexes.position(of: index))
                stages[lookup.stage].append(.index(id, inputs: inputs.map { Self.value($0, places: places) }))
            case .function(let function, _):
                stages[lookup.stage].append(.function(function))
            }
        }
        return (stages, places)
    }

    private static func value(
        _ value: PlannedWay.Value,
        places: [(stage: Int, position: Int)]
    ) -> ParameterValue {
        switch value {
        case .request(let scalar):
            .request(scalar.expression)
        case .lookup(let lookup, let output):
            .lookup(
                LookupOutput(stage: places[lookup].stage, position: places[lookup].position, output: output)
            )
        case .intersection(let parts):
            .intersection(parts.map { Self.value($0, places: places) })
        }
    }
}

/// Elements by structure: each is stored once and known by its position.
private struct InterningTable<Element: Hashable> {
    private(set) var elements: [Element] = []
    private var positions: [Element: Int] = [:]

    /// The position of an element, which is added if it is new.
    mutating func position(of element: Element) -> Int {
        if let position = positions[element] { return position }
        positions[element] = elements.count
        elements.append(element)
        return elements.count - 1
    }
}
