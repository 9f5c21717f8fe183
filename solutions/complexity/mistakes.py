"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import itertools
import math


class one_product_of_two:
    """Only the scores were counted; making the average of the values is as much work again."""

    fails = ["looking"]
    hint = "What happens to the weights once softmax has made them?"

    def attention_cost(n, d):
        return n * n * d, 2, 1, FLOAT32 * n * n


class scores_like_projections:
    """A score was counted as if a word went through a matrix of d by d, where two words of d numbers meet."""

    fails = ["looking"]
    hint = "How many pairs of a query and a key are there, and how many numbers meet in one pair?"

    def attention_cost(n, d):
        scores, average = n * d * d, n * n * d
        return scores + average, 2, 1, FLOAT32 * n * n


class projections_among_the_looking:
    """The projections were counted along with the looking."""

    fails = ["looking"]
    hint = "Here the words serve as queries, keys and values as they are. Which of your terms is then left out?"

    def attention_cost(n, d):
        return 4 * n * d * d + 2 * n * n * d, 2, 1, FLOAT32 * n * n


class half_of_the_pairs:
    """Each word was let look only at itself and at what stands before it; here every word looks at all."""

    fails = ["looking"]
    hint = "There is no mask here. At how many words does the first word look?"

    def attention_cost(n, d):
        pairs = n * (n + 1) // 2
        return 2 * pairs * d, 2, 1, FLOAT32 * n * n


class orders_without_the_width:
    """The orders O(n²), O(n) and O(kn) were taken for counts, so the width of a word is missing."""

    fails = ["looking", "matrices"]
    hint = "One query meets one key. How many numbers are multiplied then? And when a word goes through a matrix?"

    def attention_cost(n, d):
        return n * n, 2, 1, FLOAT32 * n * n

    def recurrence_cost(n, d):
        return n, n + 1, n - 1, FLOAT32 * d

    def convolution_cost(n, d, k):
        return k * n, 1, math.ceil((n - 1) / (k - 1)), FLOAT32 * (k - 1) * d


class flops_for_multiply_adds:
    """FLOPs were counted, with multiplying and adding as two; a multiply-add is both in one."""

    fails = ["looking", "matrices", "layer"]
    hint = "torch's counter counts multiplying and adding apart. What has to be done to its number here?"

    def attention_cost(n, d):
        return 4 * n * n * d, 2, 1, FLOAT32 * n * n

    def recurrence_cost(n, d):
        return 4 * n * d * d, n + 1, n - 1, FLOAT32 * d

    def convolution_cost(n, d, k):
        return 2 * k * n * d * d, 1, math.ceil((n - 1) / (k - 1)), FLOAT32 * (k - 1) * d

    def layer_work(n, d, num_heads=1):
        return 8 * n * d * d + 4 * n * n * d


class recurrence_with_one_matrix:
    """Only one matrix was counted for each step of the recurrence."""

    fails = ["matrices"]
    hint = "The word goes through a matrix. What else does, before the new state is there?"

    def recurrence_cost(n, d):
        return n * d * d, n + 1, n - 1, FLOAT32 * d


class first_state_for_free:
    """The product with the state before the first word was left out."""

    fails = ["matrices"]
    hint = "The first state of zeros is multiplied like every other. How many states go through the second matrix?"

    def recurrence_cost(n, d):
        return (2 * n - 1) * d * d, n + 1, n - 1, FLOAT32 * d


class one_number_for_each_place:
    """Each place in the window was given d numbers to multiply with, where it has a matrix."""

    fails = ["matrices"]
    hint = "d numbers of a word become d new ones. How many numbers does the matrix between them have?"

    def convolution_cost(n, d, k):
        return k * n * d, 1, math.ceil((n - 1) / (k - 1)), FLOAT32 * (k - 1) * d


class windows_without_the_margin:
    """Only windows that lie wholly on words were counted."""

    fails = ["matrices"]
    hint = "Which words does the window of the first word lie on? How many windows are there, then?"

    def convolution_cost(n, d, k):
        windows = n - k + 1
        return k * windows * d * d, 1, math.ceil((n - 1) / (k - 1)), FLOAT32 * (k - 1) * d


class attention_in_one_round:
    """Attention was given a single round, but the values can't be averaged before the weights are there."""

    fails = ["rounds"]
    hint = "Two products of matrices are made. Can the second begin before the first is done?"

    def attention_cost(n, d):
        return 2 * n * n * d, 1, 1, FLOAT32 * n * n


class queries_in_turn:
    """The queries were made to wait for each other."""

    fails = ["rounds"]
    hint = "Does the second query need anything that the first one found?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2 * n, 1, FLOAT32 * n * n


class first_round_forgotten:
    """The round in which all words go through their matrix was forgotten."""

    fails = ["rounds"]
    hint = "Before the first state is made, something has been done to all words at once. What?"

    def recurrence_cost(n, d):
        return 2 * n * d * d, n, n - 1, FLOAT32 * d


class both_products_wait:
    """Both products of each step were made to wait, also the one that needs nothing but the word."""

    fails = ["rounds"]
    hint = "Which of the two products in a step needs the state before, and which could be made for all words together?"

    def recurrence_cost(n, d):
        return 2 * n * d * d, 2 * n, n - 1, FLOAT32 * d


class places_in_turn:
    """The k places of a window were made to wait for each other."""

    fails = ["rounds"]
    hint = "What each place of the window gives is added up in the end. Does one place need what another gave?"

    def convolution_cost(n, d, k):
        return k * n * d * d, k, math.ceil((n - 1) / (k - 1)), FLOAT32 * (k - 1) * d


class rounds_for_a_path:
    """The rounds of attention were taken for its path."""

    fails = ["path"]
    hint = "Two products are made, one after the other. But how many times does the first word's value change hands before the last word has it?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2, 2, FLOAT32 * n * n


class words_for_steps:
    """The words were counted, where the steps between them were asked for."""

    fails = ["path"]
    hint = "A fence with seven posts: how many gaps are between the first and the last?"

    def recurrence_cost(n, d):
        return 2 * n * d * d, n + 1, n, FLOAT32 * d


class path_rounded_down:
    """The path of convolution was rounded down, so it ends short of the first word."""

    fails = ["path"]
    hint = "Twelve words, and four at a step. Is the last word there after two steps?"

    def convolution_cost(n, d, k):
        return k * n * d * d, 1, (n - 1) // (k - 1), FLOAT32 * (k - 1) * d


class window_for_a_step:
    """A layer was said to carry something on by k words; the window holds k, and one of them is the word itself."""

    fails = ["path", "layers"]
    hint = "A window of three words: how far apart are its first and its last?"

    def convolution_cost(n, d, k):
        return k * n * d * d, 1, -(-n // k), FLOAT32 * (k - 1) * d

    def layers_needed(n, k, dilated=False):
        if not dilated:
            return 0 if n == 1 else -(-n // k)
        layers = 0
        while k**layers < n:
            layers += 1
        return layers


class path_of_the_layer_with_gaps:
    """The path was counted for windows with gaps, which are wider in every layer."""

    fails = ["path"]
    hint = "Here all layers are alike. By how many words does the second layer carry something on?"

    def convolution_cost(n, d, k):
        path = next(layers for layers in itertools.count() if k**layers >= n)
        return k * n * d * d, 1, path, FLOAT32 * (k - 1) * d

    import itertools


class one_layer_hears_all:
    """The path of convolution was said to be one step; in one step the window reaches only k - 1 words back."""

    fails = ["path"]
    hint = "Thirteen words, and a window of three. Which words does the last one hear of in the first layer?"

    def convolution_cost(n, d, k):
        return k * n * d * d, 1, 1, FLOAT32 * (k - 1) * d


class numbers_for_bytes:
    """The numbers that are held were counted; each of them takes four bytes."""

    fails = ["memory"]
    hint = "How many bytes does a number take in float32?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2, 1, n * n

    def recurrence_cost(n, d):
        return 2 * n * d * d, n + 1, n - 1, d

    def convolution_cost(n, d, k):
        return k * n * d * d, 1, math.ceil((n - 1) / (k - 1)), (k - 1) * d


class table_held_twice:
    """The scores and the weights were each given a table; here the weights are written over the scores."""

    fails = ["memory"]
    hint = "Once a row has gone through softmax, who still needs its scores?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2, 1, 2 * FLOAT32 * n * n


class score_as_wide_as_a_word:
    """Each score was given the width of a word; a dot product is a single number."""

    fails = ["memory"]
    hint = "A query and a key of d numbers each meet. How many numbers come of it?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2, 1, FLOAT32 * n * n * d


class one_row_of_scores:
    """Only one row of scores was held, as if the queries came one after another."""

    fails = ["memory"]
    hint = "Your two rounds serve all queries at once. How many rows of scores are there between the two?"

    def attention_cost(n, d):
        return 2 * n * n * d, 2, 1, FLOAT32 * n


class all_states_held:
    """All states were held, where the next one needs only the last."""

    fails = ["memory"]
    hint = "Which of the older states does the next step look at?"

    def recurrence_cost(n, d):
        return 2 * n * d * d, n + 1, n - 1, FLOAT32 * n * d


class whole_window_held:
    """The whole window was held; the word itself is just coming in, and only those before it had to be kept."""

    fails = ["memory"]
    hint = "How many of the words in a window are before the word that it belongs to?"

    def convolution_cost(n, d, k):
        return k * n * d * d, 1, math.ceil((n - 1) / (k - 1)), FLOAT32 * k * d


class three_projections:
    """Queries, keys and values were projected; the output was not."""

    fails = ["layer"]
    hint = "The heads are merged. Through which matrix do they go then?"

    def layer_work(n, d, num_heads=1):
        return 3 * n * d * d + 2 * n * n * d


class linear_layers_only:
    """Only the matrices that are learned were counted, and looking was left out."""

    fails = ["layer"]
    hint = "Two products of a layer have no matrix of weights in them. Which two?"

    def layer_work(n, d, num_heads=1):
        return 4 * n * d * d


class feed_forward_too:
    """The feed-forward network that comes after attention was counted along."""

    fails = ["layer"]
    hint = "You have counted eight more matrices than the four that belong to attention. Which layer is theirs?"

    def layer_work(n, d, num_heads=1):
        return 4 * n * d * d + 2 * n * n * d + 8 * n * d * d


class heads_of_full_width:
    """Each head was given the full width to look with; the heads share it."""

    fails = ["layer"]
    hint = "Width 6 and three heads: how many numbers of a query does one head see?"

    def layer_work(n, d, num_heads=1):
        return 4 * n * d * d + num_heads * 2 * n * n * d


class head_projects_its_share_only:
    """Each head was projected from its own share of the word; a head's queries are made from the whole word."""

    fails = ["layer"]
    hint = "A head has a share of the query. From how many numbers of the word is that share made?"

    def layer_work(n, d, num_heads=1):
        d_head = d // num_heads
        return num_heads * (4 * n * d_head * d_head + 2 * n * n * d_head)


class one_head_looks:
    """The looking of a single head was counted, where all heads look."""

    fails = ["layer"]
    hint = "Each head looks over its share of the width. How many of them do?"

    def layer_work(n, d, num_heads=1):
        return 4 * n * d * d + 2 * n * n * (d // num_heads)


class equal_is_more:
    """The length was given at which the two are equal; asked was from where on looking takes more."""

    fails = ["crossing"]
    hint = "Put your length into both counts. Which one is larger?"

    def crossing(d):
        return d


class both_equal_is_more:
    """Both times the length was given at which the two sides are equal; asked was from where on attention takes more."""

    fails = ["crossing", "gates"]
    hint = "Put your lengths into both counts. Which one is larger?"

    def crossing(d):
        return d

    def layer_crossing(d, gates):
        return max(1, (gates - 2) * d)


class one_side_without_its_width:
    """The orders O(n²) and O(n · d²) were compared: a d was dropped on one side only."""

    fails = ["crossing"]
    hint = "What does a dot product take, for one query and one key? Is it still there on your left side?"

    def crossing(d):
        return d * d + 1


class one_product_against_two_matrices:
    """One product of attention was held against two matrices of recurrence."""

    fails = ["crossing"]
    hint = "Looking is two products. Which factor is the same on both sides, then?"

    def crossing(d):
        return 2 * d + 1


class two_products_against_one_matrix:
    """Two products of attention were held against one matrix of recurrence."""

    fails = ["crossing"]
    hint = "Through how many matrices does recurrence go at each word? Which factor is the same on both sides, then?"

    def crossing(d):
        return d // 2 + 1


class projections_against_plain:
    """The projections were counted, so attention seemed to take more from the first word on."""

    fails = ["crossing"]
    hint = "`crossing` is about the looking alone. Which of your terms belongs to the other function?"

    def crossing(d):
        return 1


class gates_without_projections:
    """The gates were counted and the projections forgotten."""

    fails = ["gates"]
    hint = "A whole layer of attention has matrices too. How many, and how many pairs is that?"

    def layer_crossing(d, gates):
        return gates * d + 1


class gates_with_three_projections:
    """Three projections were counted; the output has one too."""

    fails = ["gates"]
    hint = "Queries, keys, values: which matrix comes after them?"

    def layer_crossing(d, gates):
        return max(1, (2 * gates - 3) * d // 2 + 1)


class gates_of_one_matrix:
    """Each gate was given one matrix; it has a pair, for the word and for the state."""

    fails = ["gates"]
    hint = "A gate listens to two things. Which two, and through how many matrices?"

    def layer_crossing(d, gates):
        return max(1, (gates - 4) * d // 2 + 1)


class length_below_one:
    """Where attention takes more at every length, the formula went on below zero."""

    fails = ["gates"]
    hint = "What is the shortest text there is?"

    def layer_crossing(d, gates):
        return (gates - 2) * d + 1


class layers_rounded_down:
    """The layers were rounded down, so the last word is not reached."""

    fails = ["layers"]
    hint = "What is left over after the last whole step: has the last word heard of it?"

    def layers_needed(n, k, dilated=False):
        if not dilated:
            return (n - 1) // (k - 1)
        layers = 0
        while k ** (layers + 1) <= n:
            layers += 1
        return layers


class logarithm_rounded_up:
    """The layers were counted by a logarithm and rounded up, and the logarithm of 125 to base 5 comes out a hair above 3."""

    fails = ["layers"]
    hint = "Print math.log(125, 5). How can the first power that is large enough be found in whole numbers?"

    def layers_needed(n, k, dilated=False):
        return math.ceil(math.log(n, k)) if dilated else math.ceil((n - 1) / (k - 1))


class one_more_than_the_logarithm:
    """One layer was added to the logarithm rounded down, also where the length is an exact power and nothing is missing."""

    fails = ["layers"]
    hint = "Nine words and k = 3. Of how many words has the last one heard after two layers?"

    def layers_needed(n, k, dilated=False):
        if not dilated:
            return math.ceil((n - 1) / (k - 1))
        return 0 if n == 1 else math.floor(math.log(n) / math.log(k)) + 1


class gaps_that_double:
    """The gaps were doubled from layer to layer, as is usual for k = 2; here they grow by the factor k."""

    fails = ["layers"]
    hint = "With k = 3 the second layer's words stand 3 apart. Why not 2? What would be heard twice?"

    def layers_needed(n, k, dilated=False):
        if not dilated:
            return math.ceil((n - 1) / (k - 1))
        reach, layers = 1, 0
        while reach < n:
            reach += (k - 1) * 2**layers
            layers += 1
        return layers


class gaps_not_asked_for:
    """`dilated` was not looked at: the layers were always side by side."""

    fails = ["layers"]
    hint = "Where does your answer ask whether there are gaps?"

    def layers_needed(n, k, dilated=False):
        return math.ceil((n - 1) / (k - 1))


class at_least_one_layer:
    """The count began with one layer, which a single word does not need."""

    fails = ["layers"]
    hint = "Before any layer, of how many words has the last word heard?"

    def layers_needed(n, k, dilated=False):
        if not dilated:
            return max(1, math.ceil((n - 1) / (k - 1)))
        layers = 1
        while k**layers < n:
            layers += 1
        return layers


class heads_share_a_table:
    """One table was counted for all heads together; the heads share the width, but each has its own table."""

    fails = ["tables"]
    hint = "A narrow head still compares every word with every word. How many scores does it make?"

    def table_bytes(n, num_heads, num_layers, batch, number_bytes=4):
        return number_bytes * n * n * num_layers * batch


class one_layer_at_a_time:
    """The tables of one layer were counted, as if the next layer could use their memory; training keeps them all."""

    fails = ["tables"]
    hint = "The gradient comes back through every layer. What does it need there?"

    def table_bytes(n, num_heads, num_layers, batch, number_bytes=4):
        return number_bytes * n * n * num_heads * batch


class texts_share_a_table:
    """The tables of a single text were counted, where each text of the batch has its own."""

    fails = ["tables"]
    hint = "Do two texts look at each other's words? Whose weights are in a table, then?"

    def table_bytes(n, num_heads, num_layers, batch, number_bytes=4):
        return number_bytes * n * n * num_heads * num_layers


class half_a_table:
    """Only what a causal mask leaves was counted; the table is made whole all the same."""

    fails = ["tables"]
    hint = "A hidden score is there too, with a weight of zero. How many numbers does the table have?"

    def table_bytes(n, num_heads, num_layers, batch, number_bytes=4):
        return number_bytes * (n * (n + 1) // 2) * num_heads * num_layers * batch


class always_four_bytes:
    """Every number was given four bytes, whatever was said."""

    fails = ["tables"]
    hint = "What is the last argument for?"

    def table_bytes(n, num_heads, num_layers, batch, number_bytes=4):
        return FLOAT32 * n * n * num_heads * num_layers * batch


class root_not_taken:
    """What comes out of the division are the numbers of one table, not yet the words."""

    fails = ["longest"]
    hint = "A table of n words has how many numbers? What undoes that?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        return memory // (number_bytes * num_heads * num_layers * batch)


class root_before_sharing:
    """The root was taken of the whole memory, and the length was shared out in place of the memory."""

    fails = ["longest"]
    hint = "Twice as many heads: does the length halve, or the room for each table?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        return math.isqrt(memory // number_bytes) // (num_heads * num_layers * batch)


class length_rounded_to_the_nearest:
    """The length was rounded to the nearest, up as well as down; up means more memory than there is."""

    fails = ["longest"]
    hint = "You have room for 36.99 words. How many words fit?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        return round(math.sqrt(memory / (number_bytes * num_heads * num_layers * batch)))


class full_is_too_full:
    """Where the tables take the whole memory to the last byte, they were said not to fit."""

    fails = ["longest"]
    hint = "The tables need exactly as many bytes as there are. Which byte is missing?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        n = 0
        while number_bytes * (n + 1) ** 2 * num_heads * num_layers * batch < memory:
            n += 1
        return n


class one_word_always_fits:
    """At least one word was said to fit, where not even its tables do."""

    fails = ["longest"]
    hint = "How many bytes do the tables of a single word take, with all heads, layers and texts?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        return max(1, math.isqrt(memory // (number_bytes * num_heads * num_layers * batch)))


class first_that_breaks:
    """The length was given at which memory runs out for the first time; asked was the last one that fits."""

    fails = ["longest"]
    hint = "Put your length into `table_bytes`. Is that more than the memory, or less?"

    def longest(memory, num_heads, num_layers, batch, number_bytes=4):
        n = 0
        while number_bytes * n * n * num_heads * num_layers * batch <= memory:
            n += 1
        return n
