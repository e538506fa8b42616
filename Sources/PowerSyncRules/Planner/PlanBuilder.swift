/// Puts planned variants together into a plan in which nothing is there twice (docs/sync-config.md "The plan").
struct PlanBuilder {
    /// The largest number of queriers in one stream.
    static let maximumQueriers = 100

    private var evaluators = InterningTable<RowEvaluator>()
    private var parameterIndexes = InterningTable<ParameterIndex>()
    private var buckets: [SyncPlan.BucketDefinition] = []
    private var streams: [SyncPlan.Stream] = []

    /// What variants of one stream have in common when they can share buckets.
    private struct Recipe: Hashable {
        var requestFilters: [PlanExpression]
        var stages: [[Lookup]]
        var instantiation: [ParameterValue]
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
        var members: [(bucketName: String, evaluators: Set<Int>)] = []
        for (number, variant) in variants.enumerated() {
            let evaluator = evaluators.position(of: variant.evaluator)
            let recipe = recipes.position(of: recipe(for: variant))
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
                instantiation: recipe.instantiation
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

    /// The plan.
    func build() -> SyncPlan {
        SyncPlan(
            evaluators: evaluators.elements,
            parameterIndexes: parameterIndexes.elements,
            buckets: buckets,
            streams: streams
        )
    }

    /// The bucket definition of a set of evaluators.
    ///
    /// Queriers that need the same set share it, whatever way they take.
    private mutating func bucket(named name: String, evaluators: [Int]) -> Int {
        if let existing = buckets.firstIndex(where: { $0.evaluators == evaluators }) { return existing }
        buckets.append(SyncPlan.BucketDefinition(name: name, evaluators: evaluators))
        return buckets.count - 1
    }

    private mutating func recipe(for variant: PlannedVariant) -> Recipe {
        var stages: [[Lookup]] = []
        // Where each lookup of the variant ended up. Inputs come first, so that their places are known.
        var places: [(stage: Int, position: Int)] = []
        for lookup in variant.lookups {
            while stages.count <= lookup.stage { stages.append([]) }
            places.append((lookup.stage, stages[lookup.stage].count))
            stages[lookup.stage].append(
                Lookup(
                    index: parameterIndexes.position(of: lookup.index),
                    inputs: lookup.inputs.map { Self.value($0, places: places) }
                )
            )
        }
        return Recipe(
            requestFilters: variant.requestFilters.flatMap(\.expression.conjuncts).sortedByStructure,
            stages: stages,
            instantiation: variant.instantiation.map { Self.value($0, places: places) }
        )
    }

    private static func value(
        _ value: PlannedVariant.Value,
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
