"""Wrong answers that people write. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn


class no_relu:
    """Nothing bends between the two matrices, so the network could as well be one matrix."""

    fails = ["relu"]
    hint = "Where the units hold -3, 3 and -1, all three of yours add their row of W2. What should become of a unit below 0 before that?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(self.widen(x))


class relu_at_the_end:
    """The ReLU came after the second matrix instead of between the two."""

    fails = ["relu", "negative"]
    hint = "With nothing in between, the two matrices fold into one. Whose numbers are to be cut off at 0: the units' or the output's?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return torch.relu(self.narrow(self.widen(x)))


class relu_twice:
    """A second ReLU came after the second matrix and cut the output off at 0."""

    fails = ["negative"]
    hint = "A row of W2 may take something away from a word. What becomes of that, if nothing below 0 may come out?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return torch.relu(self.narrow(torch.relu(self.widen(x))))


class relu_before_the_bias:
    """The ReLU came before the first bias, so the bias could switch no unit off."""

    fails = ["relu"]
    hint = "The bias is a unit's threshold. When must it have been added, if it is to decide whether the unit is on?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(torch.relu(x @ self.widen.weight.T) + self.widen.bias)


class relu_on_the_words:
    """The ReLU cut off the words, before the first matrix, and not the units."""

    fails = ["relu"]
    hint = "A negative number in a word says something too. Which numbers are switched off: those that come in, or those in the middle?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(self.widen(torch.relu(x)))


class leaky_relu:
    """A unit below 0 was made small instead of 0, so no unit was ever off."""

    fails = ["relu"]
    hint = "A unit that is off adds nothing at all. How much does yours still add?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(nn.functional.leaky_relu(self.widen(x), 0.1))


class gelu:
    """The bend was a GELU, as in later models, where this network has a ReLU."""

    fails = ["output", "relu", "negative", "batch", "alone"]
    hint = "max(0, 2) is 2. What does your function make of a unit that holds 2?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(nn.functional.gelu(self.widen(x)))


class sigmoid:
    """The units went through a sigmoid, which says whether they are on but not how much."""

    fails = ["output", "relu", "negative", "batch", "alone"]
    hint = "A unit that holds 7 adds its row seven times. What is the most that a sigmoid lets through?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(torch.sigmoid(self.widen(x)))


class input_added:
    """The word itself was added to the output, which is the business of the layer around the network."""

    fails = ["output", "relu", "negative", "batch", "alone"]
    hint = "A Transformer does add the two, outside. What is left of your output, if you take the word away from it?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return x + self.narrow(torch.relu(self.widen(x)))


class added_and_normalised:
    """The word was added and the sum normalised: a layer's whole second half, where the network alone was asked for."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains"]
    hint = "Which numbers of your module are neither in the two matrices nor in the two biases?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)
            self.norm = nn.LayerNorm(d_model)

        def forward(self, x):
            return self.norm(x + self.narrow(torch.relu(self.widen(x))))


class dropout_inside:
    """Dropout silenced some units at random and made the others louder."""

    fails = ["output", "relu", "negative", "batch", "alone"]
    hint = "A module that was just made is in training. What does dropout do to the units then, and was it asked for here?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x):
            return self.narrow(self.dropout(torch.relu(self.widen(x))))


class gated:
    """A third matrix gated the units, as in SwiGLU, where this network has two matrices."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains"]
    hint = "How many matrices does the network have, and which of yours does nobody set?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)
            self.gate = nn.Linear(d_model, d_ff)

        def forward(self, x):
            return self.narrow(torch.relu(self.gate(x)) * self.widen(x))


class hidden_returned_too:
    """The hidden units were returned beside the output, where the output alone is asked for."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains", "device"]
    hint = "The next layer takes one tensor. Which of your two results is it?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            hidden = torch.relu(self.widen(x))
            return self.narrow(hidden), hidden


class no_biases:
    """Neither matrix had a bias."""

    fails = ["output", "relu", "trains"]
    hint = "A word of zeros meets two matrices. What is to come out of that, and where from?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff, bias=False)
            self.narrow = nn.Linear(d_ff, d_model, bias=False)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x)))

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.widen.weight.copy_(w1.T)
            network.narrow.weight.copy_(w2.T)


class no_second_bias:
    """The second matrix had no bias."""

    fails = ["output", "trains"]
    hint = "If every unit is off, each word should still get one thing. Which?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model, bias=False)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x)))

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.widen.weight.copy_(w1.T)
            network.widen.bias.copy_(b1)
            network.narrow.weight.copy_(w2.T)


class second_bias_added_twice:
    """The second bias was added once more, though `nn.Linear` had added it already."""

    fails = ["output"]
    hint = "`nn.Linear` gives `x @ weight.T + bias`. What is left to add?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x))) + self.narrow.bias


class no_wider_inside:
    """The hidden layer was as wide as the words, and d_ff was never used."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains"]
    hint = "Where does your module use `d_ff`? How many units should stand between the two matrices?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_model)
            self.narrow = nn.Linear(d_model, d_model)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x)))


class widths_swapped:
    """The widths changed places: from d_ff to d_model and back."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains", "device"]
    hint = "How wide is a word when it comes in? `nn.Linear` wants to know that first, and then?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_ff, d_model)
            self.narrow = nn.Linear(d_model, d_ff)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x)))


class names_of_its_own:
    """The layers got other names than those to which `set_weights` writes."""

    fails = ["output", "relu", "negative", "batch", "alone", "trains"]
    hint = "Your names are as good as any. Where else do `widen` and `narrow` still stand?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.fc1 = nn.Linear(d_model, d_ff)
            self.fc2 = nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))


class three_axes_only:
    """Three axes were unpacked, and there were two or four."""

    fails = ["batch"]
    hint = "`*batch` may stand for any number of axes, also none. Which line of yours counts them?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            batch, tokens, d_model = x.shape
            units = torch.relu(self.widen(x.reshape(batch * tokens, d_model)))
            return self.narrow(units).reshape(batch, tokens, d_model)


class convolution_for_batches:
    """The network was written as two convolutions of width 1, which want exactly one axis before words and numbers."""

    fails = ["batch"]
    hint = "Which axes does your code swap, counted from which end? What if there are two axes before the words, or none?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Conv1d(d_model, d_ff, 1)
            self.narrow = nn.Conv1d(d_ff, d_model, 1)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x.transpose(1, 2)))).transpose(1, 2)

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.widen.weight.copy_(w1.T[..., None])
            network.widen.bias.copy_(b1)
            network.narrow.weight.copy_(w2.T[..., None])
            network.narrow.bias.copy_(b2)


class batch_left_flat:
    """All axes before the words were folded into one, and it was not unfolded again."""

    fails = ["batch"]
    hint = "How many axes did you fold into one? Is that how the next layer expects them?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            words = x.reshape(-1, x.shape[-2], x.shape[-1])
            return self.narrow(torch.relu(self.widen(words)))


class units_averaged_over_words:
    """The units were averaged over the words of a sentence, so each word got what all of them had found."""

    fails = ["alone"]
    hint = "One word was changed, and every row of the output moved. Which line of yours works along the words?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            hidden = torch.relu(self.widen(x))
            return self.narrow(hidden.mean(dim=-2, keepdim=True).expand_as(hidden))


class words_seen_by_neighbours:
    """The network was written as a convolution of width 3, and each word heard of its neighbours."""

    fails = ["alone", "trains"]
    hint = "For how many places does your first matrix have numbers? How many places is one word?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Conv1d(d_model, d_ff, kernel_size=3, padding=1)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            flat = x.flatten(end_dim=-3) if x.ndim > 3 else x
            hidden = torch.relu(self.widen(flat.transpose(-2, -1))).transpose(-2, -1)
            return self.narrow(hidden).reshape(x.shape)

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.widen.weight[:, :, 1] = w1.T
            network.widen.bias.copy_(b1)
            network.narrow.weight.copy_(w2.T)
            network.narrow.bias.copy_(b2)


class view_where_axes_swap:
    """Words and numbers were to change places, but a view only cut the numbers anew, so words got parts of each other."""

    fails = ["alone"]
    hint = "A view leaves the numbers in the order of memory. The first row was to hold the first number of every word: what does yours hold?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            columns = x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])
            hidden = torch.relu(self.widen.weight @ columns + self.widen.bias[:, None])
            return (self.narrow.weight @ hidden + self.narrow.bias[:, None]).reshape(x.shape)


class plain_tensors:
    """The matrices and biases were plain tensors, which a module does not find when it is trained."""

    fails = ["trains", "device"]
    hint = "`parameters()` lists what an optimiser may change. What turns a tensor into something that it lists?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.w1 = torch.randn(d_model, d_ff, requires_grad=True)
            self.b1 = torch.zeros(d_ff, requires_grad=True)
            self.w2 = torch.randn(d_ff, d_model, requires_grad=True)
            self.b2 = torch.zeros(d_model, requires_grad=True)

        def forward(self, x):
            return torch.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.w1.copy_(w1)
            network.b1.copy_(b1)
            network.w2.copy_(w2)
            network.b2.copy_(b2)


class biases_not_trained:
    """The biases were plain tensors of zeros, and would stay zeros."""

    fails = ["trains", "device"]
    hint = "The matrices learn. Who tells the module that the biases are to learn too?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.w1 = nn.Parameter(torch.randn(d_model, d_ff))
            self.b1 = torch.zeros(d_ff)
            self.w2 = nn.Parameter(torch.randn(d_ff, d_model))
            self.b2 = torch.zeros(d_model)

        def forward(self, x):
            return torch.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2

    def set_weights(network, w1, b1, w2, b2):
        with torch.no_grad():
            network.w1.copy_(w1)
            network.b1.copy_(b1)
            network.w2.copy_(w2)
            network.b2.copy_(b2)


class forward_without_gradient:
    """The network computed without recording, so no gradient came back."""

    fails = ["trains"]
    hint = "What does autograd record inside `torch.no_grad()`?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        @torch.no_grad()
        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x)))


class units_outside_the_graph:
    """The hidden units left the graph that autograd follows, so nothing before them could learn."""

    fails = ["trains", "device"]
    hint = "The second matrix gets a gradient and the first does not. Which step stands between them?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            hidden = torch.from_numpy(self.widen(x).detach().numpy().clip(min=0))
            return self.narrow(hidden)


class fold_transposed:
    """The matrix was transposed, as `nn.Linear` would store it."""

    fails = ["fold"]
    hint = "`nn.Linear` stores the transpose, and turns it back when it multiplies. Who would turn yours back in `x @ matrix + bias`?"

    def fold(w1, b1, w2, b2):
        return w2.T @ w1.T, b1 @ w2 + b2


class fold_second_first:
    """The product was taken the other way round, W2 first, and came out as wide as the hidden layer."""

    fails = ["fold", "device"]
    hint = "How wide is a word when it meets the folded matrix, and how wide is your matrix? Which of the two does `x` meet first?"

    def fold(w1, b1, w2, b2):
        return w2 @ w1, b1 @ w2 + b2


class fold_keeps_the_relu:
    """A ReLU was folded into the first matrix and its bias."""

    fails = ["fold", "fold_bias"]
    hint = "The ReLU cuts off what a word makes of the matrix, not the matrix. And is there a ReLU in the network that folds?"

    def fold(w1, b1, w2, b2):
        return torch.relu(w1) @ w2, torch.relu(b1) @ w2 + b2


class fold_forgets_first_bias:
    """Only the second bias was kept, and what the first adds got lost."""

    fails = ["fold_bias"]
    hint = "A word of zeros makes the units hold b1. What does W2 make of that?"

    def fold(w1, b1, w2, b2):
        return w1 @ w2, b2


class fold_forgets_second_bias:
    """Only the first bias was taken through W2, and the second got lost."""

    fails = ["fold_bias"]
    hint = "What does the network add after the second matrix, whatever the units hold?"

    def fold(w1, b1, w2, b2):
        return w1 @ w2, b1 @ w2


class fold_cuts_the_bias_off:
    """The ReLU was left in the bias: what is negative in b1 became 0."""

    fails = ["fold_bias"]
    hint = "Multiply (x W1 + b1) W2 out, with nothing between the brackets and W2. Is anything cut off?"

    def fold(w1, b1, w2, b2):
        return w1 @ w2, torch.relu(b1) @ w2 + b2


class fold_adds_biases_up:
    """The two biases were added up, though they are of different widths."""

    fails = ["fold", "fold_bias", "device"]
    hint = "b1 is as wide as the hidden layer, b2 as wide as a word. What makes one as wide as the other?"

    def fold(w1, b1, w2, b2):
        return w1 @ w2, b1 + b2


class fold_bias_first:
    """The two results were returned the wrong way round: the bias first."""

    fails = ["fold", "fold_bias", "dtype", "device"]
    hint = "Matrix first, bias second. In which order does your last line return them?"

    def fold(w1, b1, w2, b2):
        return b1 @ w2 + b2, w1 @ w2


class fold_in_one_table:
    """Matrix and bias came back in one table, the bias as its last row."""

    fails = ["fold", "fold_bias", "dtype", "device"]
    hint = "A row more for the bias is a good trick. But how many things were to be returned?"

    def fold(w1, b1, w2, b2):
        return torch.cat([w1 @ w2, (b1 @ w2 + b2)[None]])


class fold_in_single_precision:
    """The folded matrix was copied into tensors of 32 bits, whatever the inputs had."""

    fails = ["dtype", "device"]
    hint = "Which dtype does `torch.empty` take, if it is not told?"

    def fold(w1, b1, w2, b2):
        matrix, bias = torch.empty(len(w1), len(b2)), torch.empty(len(b2))
        return matrix.copy_(w1 @ w2), bias.copy_(b1 @ w2 + b2)


class count_without_biases:
    """The two matrices were counted, and not their biases."""

    fails = ["count"]
    hint = "What does the network add after each matrix, and how wide is it?"

    def parameter_count(d_model, d_ff):
        return 2 * d_model * d_ff


class count_of_one_bias:
    """One bias was counted, the hidden layer's, where there are two."""

    fails = ["count"]
    hint = "Which matrix has no bias in your formula?"

    def parameter_count(d_model, d_ff):
        return 2 * d_model * d_ff + d_ff


class count_of_equal_biases:
    """Both biases were counted as wide as the hidden layer."""

    fails = ["count"]
    hint = "A bias is as wide as what its matrix gives. How wide is what the second one gives?"

    def parameter_count(d_model, d_ff):
        return 2 * (d_model + 1) * d_ff


class count_for_four_times_the_width:
    """The count took the hidden layer for four times as wide as the words, whatever d_ff is."""

    fails = ["count"]
    hint = "Where does your formula use `d_ff`?"

    def parameter_count(d_model, d_ff):
        return 8 * d_model**2 + 5 * d_model


class count_with_a_point:
    """The count was divided on the way and came back as a number with a decimal point."""

    fails = ["count"]
    hint = "Can there be half a parameter? Which operator makes a whole number into a float?"

    def parameter_count(d_model, d_ff):
        ratio = d_ff / d_model
        return 2 * ratio * d_model**2 + (ratio + 1) * d_model


class weights_below_zero:
    """The matches were returned as they are, so a value could be added less than not at all."""

    fails = ["weights", "off"]
    hint = "A key that does not match switches its unit off. What does the ReLU make of a negative match?"

    def hidden_weights(x, w1, b1):
        return x @ w1 + b1


class weights_by_softmax:
    """The matches went through softmax, as in attention, so every value was added a little to every word."""

    fails = ["weights", "off", "dtype"]
    hint = "In attention the keys compete for one whole. Which units compete here, and can a word switch one quite off?"

    def hidden_weights(x, w1, b1):
        return torch.softmax(x @ w1 + b1, dim=-1)


class weights_without_threshold:
    """The bias was left out, so a unit had no threshold that a match must exceed."""

    fails = ["weights", "off"]
    hint = "The word (2, 1) matches the key (1, 1) with 3, and the value is added once. Where do the other 2 go?"

    def hidden_weights(x, w1, b1):
        return torch.relu(x @ w1)


class threshold_after_the_relu:
    """The bias was added after the ReLU, where it can't switch a unit off any more."""

    fails = ["weights", "off"]
    hint = "Can a value be added less than not at all? When must the bias have been added?"

    def hidden_weights(x, w1, b1):
        return torch.relu(x @ w1) + b1


class weights_on_or_off:
    """The weights said whether a unit is on, but not how much of its value is added."""

    fails = ["weights", "dtype"]
    hint = "How many times is the second value added for the word (-1, 2)?"

    def hidden_weights(x, w1, b1):
        return (x @ w1 + b1 > 0).to(x.dtype)


class weights_shared_out:
    """Each row was divided by its sum, as if the units shared one whole."""

    fails = ["weights", "off", "dtype"]
    hint = "These weights need not add up to 1. And what is the sum of a row in which every unit is off?"

    def hidden_weights(x, w1, b1):
        weights = torch.relu(x @ w1 + b1)
        return weights / weights.sum(dim=-1, keepdim=True)


class weights_scaled:
    """The matches were divided by the square root of d_model, as attention divides its scores by that of d_k."""

    fails = ["weights"]
    hint = "Attention divides so that softmax does not saturate. Is there a softmax here, and does the network divide?"

    def hidden_weights(x, w1, b1):
        return torch.relu((x @ w1 + b1) / x.shape[-1] ** 0.5)


class weights_capped_at_one:
    """No weight could exceed 1, as if it were a share of a whole."""

    fails = ["weights"]
    hint = "How many times is the second value added for the word (-1, 2)? Is there anything here that has to add up to 1?"

    def hidden_weights(x, w1, b1):
        return (x @ w1 + b1).clamp(0, 1)


class largest_along_an_axis:
    """`torch.max(..., 0)` was taken for max(0, ...): it looks for the largest match along axis 0."""

    fails = ["weights", "off", "dtype", "device"]
    hint = "Shapes of input and output differ by one axis. What does the 0 in your `torch.max` stand for?"

    def hidden_weights(x, w1, b1):
        return torch.max(x @ w1 + b1, 0).values


class weights_in_single_precision:
    """The matches were turned into 32 bits, whatever the inputs had."""

    fails = ["dtype"]
    hint = "Which call in your code fixes a type of its own?"

    def hidden_weights(x, w1, b1):
        return torch.relu(x.float() @ w1.float() + b1.float())


class off_for_some_word:
    """A unit counted as off as soon as one word did not switch it on."""

    fails = ["off"]
    hint = "A unit that one word switches on still learns from that word. For how many words must it be off?"

    def always_off(x, w1, b1):
        return (hidden_weights(x, w1, b1) == 0).flatten(end_dim=-2).any(dim=0)


class off_in_each_sentence:
    """The answer was given for each sentence by itself, not for all together."""

    fails = ["off", "device"]
    hint = "A unit may rest in one sentence and work in the next. How many answers were asked for, and how many came?"

    def always_off(x, w1, b1):
        return (hidden_weights(x, w1, b1) == 0).all(dim=-2)


class off_only_below_zero:
    """A unit that holds exactly 0 before the ReLU was not counted as off."""

    fails = ["off"]
    hint = "How much of its value does a unit add that holds exactly 0?"

    def always_off(x, w1, b1):
        return (x @ w1 + b1 < 0).flatten(end_dim=-2).all(dim=0)


class off_on_average:
    """A unit counted as off if its matches are negative on average, though some word may switch it on."""

    fails = ["off"]
    hint = "Before the ReLU, one high match can be hidden by many low ones. Which of them decides whether the unit ever adds something?"

    def always_off(x, w1, b1):
        return (x @ w1 + b1).flatten(end_dim=-2).mean(dim=0) <= 0


class off_as_numbers:
    """The units were listed by their numbers, where each was to get True or False."""

    fails = ["off", "device"]
    hint = "There are as many answers as units. What is the answer for the first?"

    def always_off(x, w1, b1):
        return (hidden_weights(x, w1, b1) == 0).flatten(end_dim=-2).all(dim=0).nonzero().flatten()


class on_instead_of_off:
    """True was given to the units that some word switches on."""

    fails = ["off"]
    hint = "True = off for all. Which units got True from you?"

    def always_off(x, w1, b1):
        return hidden_weights(x, w1, b1).flatten(end_dim=-2).any(dim=0)


class words_instead_of_units:
    """The answer was given for each word, whether all units are off for it, not for each unit."""

    fails = ["off", "device"]
    hint = "Rows are words, columns are units. Along which of the two must everything be 0?"

    def always_off(x, w1, b1):
        return (hidden_weights(x, w1, b1) == 0).all(dim=-1).flatten()


class words_unrolled_by_view:
    """The words of all sentences were put below each other by `view`, which refuses tensors that were transposed."""

    fails = ["batch"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x.view(-1, x.shape[-1])))).view(x.shape)


class input_kept_where_sizes_agree:
    """Where there are as many units as numbers in a word, the layer was taken for one that needs no second matrix."""

    fails = ["output"]
    hint = "The widths may be the same. Are the two matrices, then?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            units = torch.relu(self.widen(x))
            return units if units.shape == x.shape else self.narrow(units)


class words_cut_off:
    """The words were cut off the graph, so what made them is never trained."""

    fails = ["trains"]
    hint = "In a model the words come from attention. Does its gradient get there?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.narrow(torch.relu(self.widen(x.detach())))


class mean_taken_off_in_place:
    """The mean was taken off the words where they lie and put back for the output only; whoever handed them over finds them changed."""

    fails = ["alone", "trains"]
    hint = "The layer above adds its input to what comes back. What does it find there?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            mean = x.mean(dim=-1, keepdim=True)
            x -= mean
            return self.narrow(torch.relu(self.widen(x + mean)))


class keys_turned_where_sizes_agree:
    """The keys were taken from the rows of W1 wherever it has as many rows as columns."""

    fails = ["weights"]
    hint = "As many units as numbers in a word: which axis of W1 are the units on?"

    def hidden_weights(x, w1, b1):
        rows = w1 if w1.shape[1] == x.shape[-1] else w1.T
        return torch.relu(torch.einsum("...m,fm->...f", x, rows) + b1)


class keys_cut_off:
    """The weights were computed without gradients, so no key is ever trained by them."""

    fails = ["weights"]
    hint = "Which words should a key respond to? Who tells it, in training?"

    def hidden_weights(x, w1, b1):
        with torch.no_grad():
            return torch.relu(x @ w1 + b1)


class words_in_rows_by_view:
    """The words of all sentences were put below each other by `view`, which refuses tensors that were transposed."""

    fails = ["weights"]
    hint = "`view` moves no number. What does `reshape` do where the numbers do not lie in the order of the axes?"

    def hidden_weights(x, w1, b1):
        return torch.relu(x.view(-1, x.shape[-1]) @ w1 + b1).view(*x.shape[:-1], -1)


class fold_outside_the_graph:
    """The layers were folded without gradients, so nothing that is done with the fold can train them."""

    fails = ["fold", "fold_bias"]
    hint = "Folding is two products and a sum. Which of them needs `no_grad`?"

    @torch.no_grad()
    def fold(w1, b1, w2, b2):
        return w1 @ w2, b1 @ w2 + b2


class folded_where_it_lies:
    """The second bias was added to where it lies, and whoever handed it over finds another one."""

    fails = ["fold_bias"]
    hint = "What is the difference between `b2 += b1 @ w2` and `b2 + b1 @ w2` for whoever handed you b2?"

    def fold(w1, b1, w2, b2):
        b2 += b1 @ w2
        return w1 @ w2, b2


class folded_the_other_way_in_squares:
    """The two matrices were multiplied in the order in which they fit, and squares fit both ways."""

    fails = ["fold"]
    hint = "`x` meets W1 first. Does that depend on how wide the units are?"

    def fold(w1, b1, w2, b2):
        if w1.shape == w2.shape:
            return w2 @ w1, b1 @ w2 + b2
        return w1 @ w2, b1 @ w2 + b2


class zeros_on_the_cpu:
    """The units were compared with zeros that were made on the CPU."""

    fails = ["device"]
    hint = "`torch.zeros` was told a shape and a dtype. What was it not told?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)

        def forward(self, x):
            units = self.widen(x)
            return self.narrow(torch.maximum(units, torch.zeros(units.shape, dtype=units.dtype)))


class zeros_that_are_no_buffer:
    """The network kept a row of zeros in a plain attribute, which stays behind when the network is moved."""

    fails = ["device"]
    hint = "`network.to` moves parameters and buffers. Need the floor be a tensor at all?"

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.widen = nn.Linear(d_model, d_ff)
            self.narrow = nn.Linear(d_ff, d_model)
            self.floor = torch.zeros(d_ff)

        def forward(self, x):
            units = self.widen(x)
            return self.narrow(torch.maximum(units, self.floor.to(units.dtype)))


class off_noted_on_the_cpu:
    """Whether a unit is off was written into a table on the CPU, which also came back."""

    fails = ["device"]
    hint = "Writing into a tensor does not move it. Where is the table when it comes back?"

    def always_off(x, w1, b1):
        off = torch.ones(len(b1), dtype=torch.bool)
        for unit in range(len(b1)):
            off[unit] = (hidden_weights(x, w1[:, unit : unit + 1], b1[unit : unit + 1]) == 0).all()
        return off
